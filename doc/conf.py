"""The site: "make doc" runs Sphinx with this file on the Markdown files of the repository, from its root."""

import glob, os, re, sys

from docutils import nodes
from latex2mathml.converter import convert

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import manualpages

project, author, html_title = 'libpatchfd', 'libpatchfd authors', 'libpatchfd'
version = release = '.'.join(re.findall(r'PATCHFD_VERSION_\w+ +(\d+)', open(manualpages.root + '/include/petscpatchfd.h').read()))
root_doc = 'doc/index'
include_patterns = ['*.md', 'doc/**.md', 'packages/README.md']
extensions = ['myst_parser', 'sphinx_design']
myst_enable_extensions, myst_heading_anchors = ['dollarmath', 'colon_fence'], 4
highlight_language = 'none'
html_theme, html_static_path, html_css_files = 'pydata_sphinx_theme', ['static'], ['site.css']
html_js_files, html_math_renderer, html_show_sourcelink, html_copy_source = ['options.js'], 'mathml', False, False
html_theme_options = {
    'show_prev_next': False,
    'header_links_before_dropdown': 7,
    'secondary_sidebar_items': {'**': ['page-toc'], 'doc/options': []},
    'footer_end': [],
    'footer_start': ['copyright'],
    'navbar_end': ['theme-switcher'],
    'navbar_persistent': ['search-button'],
    'pygments_light_style': 'default',
}
copyright = 'libpatchfd authors, BSD 2-Clause'
html_sidebars = {'doc/index': [], 'doc/options': [], 'doc/manualpages/**': []}
BELOW = {  # pages that are below another one in the navigation; on GitHub the links in their text do this
    'doc/guide/index': ['../../README', '../installation', 'box', '*', '../gpu', '../single', '../python'],
    'doc/tutorials/index': ['poisson', '*'],
    'doc/method': ['method/*'],
    'doc/performance': ['log/README*', 'log/*'],
    'doc/developing': ['../CONTRIBUTING', '../CHANGELOG', '../packages/README'],
}
NAMES, PETSC = manualpages.public(), manualpages.petscnames()
OPTIONS = set(re.findall(r'^\| `-(\w+)', open(manualpages.root + '/doc/options.md').read(), re.M))


def below(app, docname, source):
    if docname in BELOW:
        there = [page for page in BELOW[docname] if glob.glob(os.path.join(manualpages.root, os.path.dirname(docname), page + '.md'))]
        source[0] += '\n```{toctree}\n:hidden:\n:glob:\n\n' + '\n'.join(there) + '\n```\n'


def anchors(app, doctree):
    """Each row of the tables of options is a target: options.html#dm_box_cells."""
    if app.env.docname == 'doc/options':
        seen = set()
        for row in doctree.findall(nodes.row):
            option = re.match(r'-(\w+)', row.astext())
            if option and option.group(1) not in seen:
                row['ids'].append(option.group(1))
                seen.add(option.group(1))


def target(app, docname, text):
    """Where `text` leads: to a manual page, ours or PETSc's, or to an option, with any prefix."""
    option, name = re.match(r'-(\w+)', text), re.fullmatch(r'(\w+)(\(\))?', text)
    if option:
        here = next(
            (option.group(1)[at.end() :] for at in re.finditer('^|_', option.group(1)) if option.group(1)[at.end() :] in OPTIONS), None
        )
        return here and docname != 'doc/options' and app.builder.get_relative_uri(docname, 'doc/options') + '#' + here
    if name and name.group(1) in NAMES and docname != 'doc/manualpages/' + NAMES[name.group(1)]:
        return app.builder.get_relative_uri(docname, 'doc/manualpages/' + NAMES[name.group(1)])
    if name and name.group(1) in PETSC:
        return f'https://petsc.org/release/manualpages/{PETSC[name.group(1)]}/{name.group(1)}/'


def links(app, doctree, docname):
    for code in list(doctree.findall(nodes.literal)):
        there = not isinstance(code.parent, (nodes.reference, nodes.title)) and target(app, docname, code.astext())
        if there:
            code.replace_self(nodes.reference('', '', code.deepcopy(), refuri=there, internal=True))


def formula(display):
    def visit(self, node):
        self.body.append(
            convert(node.astext(), display=display)
            if display == 'inline'
            else '<div class="formula">' + convert(node.astext(), display=display) + '</div>'
        )
        raise nodes.SkipNode

    return visit, None


def begin(app, exception):
    """The page that a folder shows is in doc/."""
    if not exception:
        open(os.path.join(app.outdir, 'index.html'), 'w').write('<meta http-equiv="refresh" content="0; url=doc/index.html">\n')


def setup(app):
    manualpages.write(manualpages.root + '/doc/manualpages')
    app.connect('source-read', below)
    app.connect('doctree-read', anchors)
    app.connect('doctree-resolved', links)
    app.connect('build-finished', begin)
    app.add_html_math_renderer('mathml', formula('inline'), formula('block'))
