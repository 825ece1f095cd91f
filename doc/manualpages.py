#!/usr/bin/env python3
"""manualpages.py: Markdown from the manual pages in the sources, comments in PETSc's conventions, one file for each public name.

  manualpages.py FOLDER       write NAME.md for each page, and index.md
  manualpages.py check        public names without a page, pages that contradict what they document, and links to nothing, one a line
  manualpages.py petsc SOURCE print doc/petscnames.txt, the folders of petsc.org in which PETSc's manual pages are, from PETSc's sources

Public are the functions, function types, enumerations, their values, and macros of include/*.h; python/patchfd.py has the same names.
"""

import glob, os, re, sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLASSES = {  # beginnings of names, the first that fits
    'PatchFD': 'The library',
    'PATCHFD_VERSION': 'The library',
    'DMBoxTS': 'DMBOX in time steps',
    'DMBox': 'DMBOX',
    'DMBOX': 'DMBOX',
    'MatBox': 'DMBOX',
    'PCPatchFD': 'PCPATCHFD',
    'PCPATCHFD': 'PCPATCHFD',
    'PCPatchMG': 'PCPATCHMG',
    'PCPATCHMG': 'PCPATCHMG',
    'PCSingle': 'PCSINGLE and VECSINGLE',
    'PCSINGLE': 'PCSINGLE and VECSINGLE',
    'Vec': 'PCSINGLE and VECSINGLE',
    'VEC': 'PCSINGLE and VECSINGLE',
    'KSP': 'KSPFUSEDCG and KSPREFINE',
    'MatCreateKroneckerSum': 'PCPATCHFD',
    'MatCreateDiffusionPlex': 'Diffusion on a DMPLEX',
    'MatDiffusionPlex': 'Diffusion on a DMPLEX',
    'MATPATCHFD': 'Diffusion on a DMPLEX',
    'MATAIJSINGLE': 'PCSINGLE and VECSINGLE',
    'Mat': 'Bake-off problems',
}


class Page:
    def __init__(self, file, line, kind, text, code):
        self.file, self.line, self.kind = os.path.relpath(file, root), line, kind
        text, _, links = text.partition('.seealso:')
        self.links = re.findall(r'`(\w+)(?:\(\))?`', links)
        self.name, self.title, self.body = re.match(r'\s*(\w+) - (.*?)\n(?:\s*\n|\Z)(.*)', text, re.S).groups()
        pattern = {
            '@': r'PetscErrorCode \w+\([^{;]*(?=\n\{)',
            'E': r'typedef enum \{.*?\} \w+;\n(?:PETSC_EXTERN const char.*?;)?',
            'S': r'typedef .*?;',
        }.get(kind)
        found = pattern and re.match(r'\s*' + pattern, code, re.S)
        self.code = found.group().strip() + (';' if kind == '@' else '') if found else ''

    @property
    def section(self):
        return next(title for start, title in CLASSES.items() if self.name.startswith(start))


def pages():
    for path in sorted(glob.glob(root + '/include/*.h') + glob.glob(root + '/src/*/*.c')):
        source = open(path, encoding='utf-8').read()
        for at in re.finditer(r'^/\*([@MES])[CN]?\n(.*?)\n[@MES]C?\*/', source, re.M | re.S):
            yield Page(path, source.count('\n', 0, at.start()) + 1, at.group(1), at.group(2), source[at.end() :])


def public():
    """Names, each with the one that has its page: values and names of an enumeration are on that of the enumeration."""
    names = {}
    for path in glob.glob(root + '/include/*.h'):
        code = re.sub(r'/\*.*?\*/', '', open(path, encoding='utf-8').read(), flags=re.S)
        names.update(
            (name, name)
            for name in re.findall(r'^PETSC_EXTERN PetscErrorCode +(\w+)|^#define ([A-Z]\w+)|^typedef PetscErrorCode (\w+)', code, re.M)
            for name in name
            if name
        )
        for values, name, strings in re.findall(r'typedef enum \{(.*?)\} (\w+);\s*PETSC_EXTERN const char \*const (\w+)', code, re.S):
            names.update((value, name) for value in [name, strings] + re.findall(r'\w+', values))
    return {name: 'PATCHFD_VERSION' if page.startswith('PATCHFD_VERSION_') else page for name, page in names.items()}


def petscnames():
    lines = (line.split(': ') for line in open(root + '/doc/petscnames.txt'))
    return {name: folder for folder, names in lines for name in names.split()}


def check():
    names, found = public(), {page.name: page for page in pages()}
    for name, page in sorted(names.items()):
        if page not in found:
            yield f'{name} has no manual page'
    for page in found.values():
        if page.name not in names.values():
            yield f'{page.file}:{page.line}: {page.name} is not public'
        if 'Level:' not in page.body or not page.links:
            yield f'{page.file}:{page.line}: {page.name} has no level or no links'
        for name in page.links + re.findall(r'`(\w+)(?:\(\))?`', page.body):
            if (
                name not in names
                and name != page.name
                and re.match(
                    'DMB(ox|OX)|PCP(atch|ATCH)(FD|MG)|PCS(ingle|INGLE)|Mat(Box|CreateBakeoff|Bakeoff)|PatchFD|V(ec|EC)S(ingle|INGLE)', name
                )
            ):
                yield f'{page.file}:{page.line}: {page.name} names {name}'
        if page.kind == '@':
            taken = re.findall(r'(\w+)(?:\[\])*(?:\)\([^)]*\))?(?=[,)])', page.code.partition('(')[2])
            described = [
                name
                for line in re.findall(r'^[+.-] (.*?) +- ', re.sub(r'Options Database.*?\n\n', '', page.body, flags=re.S), re.M)
                for name in line.split(', ')
            ]
            if taken != ['void'] and set(taken) != set(described):
                yield f'{page.file}:{page.line}: {page.name} takes {taken}, and its page describes {described}'


def escaped(text):
    return ''.join(part if i % 2 else re.sub(r'([\\*_<>\[\]$|#])', r'\\\1', part) for i, part in enumerate(re.split('(`[^`]*`)', text)))


def body(text):
    """Doctext as Markdown: headings, lists of "+ name - text", verbatim text, paragraphs."""
    lines, block, verbatim = [], '', False
    for line in text.splitlines() + ['']:
        item = re.match(r'[+.-] (.*)', line)
        if line.startswith('.v'):
            verbatim = line == '.vb'
            lines += ['```']
        elif verbatim:
            lines.append(line)
        elif item or not line.strip():
            lines += [block, ''][: None if not block.startswith('- ') or not item else 1] if block else []
            name, dash, rest = item.group(1).partition(' - ') if item else ('', '', '')
            block = (
                item
                and '- '
                + ('' if '`' in name else '`')
                + name.strip()
                + ('' if '`' in name else '`')
                + dash.replace('-', '–')
                + escaped(rest)
                or ''
            )
        elif re.match(r'  [A-Z][\w ]*:$', line):
            lines += ['## ' + line.strip()[:-1], '']
        elif re.match('  Level: ', line):
            lines += ['**Level:** ' + line[9:], '']
        else:
            block += (' ' if block else '') + escaped(line.strip())
    return '\n'.join(lines)


def write(folder):
    os.makedirs(folder, exist_ok=True)
    found, names = sorted(pages(), key=lambda page: page.name.lower()), public()
    python = open(root + '/python/patchfd.py').read()
    programs = {path: open(path).read() for path in sorted(glob.glob(root + '/tutorials/*.[cp]*'))}
    for page in found:
        uses = [path for path, text in programs.items() if re.search(rf'\b{page.name}\b', text)]
        text = ['---', 'orphan: true', '---', '', '# ' + page.name, '', escaped(' '.join(page.title.split())), '']
        text += ['## Synopsis', '', '```c', '#include <petscpatchfd.h>', page.code, '```', ''] if page.code else []
        text += [body(page.body), '']
        text += (
            ['## Python', '', f'`patchfd.{page.name}`: the [rules](../python.md#routines)', '']
            if page.kind == '@' and page.name in python
            else []
        )
        text += ['## See also', '', ', '.join(f'`{name}`' for name in page.links), ''] if page.links else []
        text += (
            ['## Used in', '', ', '.join(f'[{os.path.basename(path)}](../../tutorials/{os.path.basename(path)})' for path in uses), '']
            if uses
            else []
        )
        text += ['## Source', '', f'[{page.file}](../../{page.file}), line {page.line}', '']
        put(os.path.join(folder, page.name + '.md'), '\n'.join(text))
    text = ['# Manual pages', '', 'All public names, by class; values of enumerations are on the page of the enumeration.', '']
    for section in dict.fromkeys(CLASSES.values()):
        text += ['## ' + section, '', '| name | what it is or does |', '|---|---|']
        text += [
            f'| [{page.name}]({page.name}.md) | {escaped(" ".join(page.title.split()))} |' for page in found if page.section == section
        ] + ['']
    put(os.path.join(folder, 'index.md'), '\n'.join(text))
    for path in set(glob.glob(folder + '/*.md')) - {f'{folder}/{name}.md' for name in [page.name for page in found] + ['index']}:
        os.remove(path)


def put(path, text):
    """An unchanged file keeps its time, for Sphinx."""
    if not os.path.exists(path) or open(path, encoding='utf-8').read() != text:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def petsc(source):
    """PETSc's pages are in the folder SUBMANSEC, or else MANSEC, of the file or of the makefile beside it; only names that we use."""
    ours = {
        word
        for pattern in ('*.md', 'doc/**/*.md', 'src/*/*.c', 'include/*.h')
        for path in glob.glob(f'{root}/{pattern}', recursive=True)
        for word in re.findall(r'`(\w+)(?:\(\))?`', open(path, encoding='utf-8').read())
    }
    folders = {}
    for path in (
        glob.glob(source + '/src/**/*.[ch]', recursive=True)
        + glob.glob(source + '/src/**/*.cxx', recursive=True)
        + glob.glob(source + '/include/*.h')
    ):
        text, makefile = open(path, encoding='utf-8', errors='replace').read(), os.path.dirname(path) + '/makefile'
        where = text + (open(makefile).read() if os.path.exists(makefile) else '')
        folder = re.search(r'\bSUBMANSEC *= *(\w+)', where) or re.search(r'\bMANSEC *= *(\w+)', where)
        for name in re.findall(r'^/\*[@MESJ][CN]?\s+(\w+)(?: *= *"\w*")? *- ', text, re.M):
            if folder and name in ours:
                folders.setdefault(folder.group(1), set()).add(name)
    return '\n'.join(f'{folder}: ' + ' '.join(sorted(names)) for folder, names in sorted(folders.items()))


if __name__ == '__main__':
    if sys.argv[1:] == ['check']:
        wrong = list(check())
        sys.exit('\n'.join(wrong) or None)
    elif sys.argv[1:2] == ['petsc']:
        print(petsc(sys.argv[2]))
    else:
        write(sys.argv[1])
