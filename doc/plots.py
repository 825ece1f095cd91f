#!/usr/bin/env python3
"""plots.py: draws doc/pictures/*.svg from doc/data/*.csv, with matplotlib (pip install matplotlib).  The same data give the same files."""
import csv, os
import matplotlib
matplotlib.use('svg')
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullFormatter

here = os.path.dirname(os.path.abspath(__file__))
# Okabe and Ito's colours, some darker
BLUE, RED, GREEN, ORANGE, PURPLE, SKY, GREY = '#0072b2', '#d55e00', '#007a58', '#c98a00', '#a8487e', '#56b4e9', '#666666'
PRECISIONS = ('Double precision', 'Single precision')
plt.rcParams.update({
    'svg.hashsalt': 'patchfd', 'font.size': 11, 'axes.titlesize': 11.5, 'axes.titlelocation': 'left', 'axes.axisbelow': True,
    'axes.spines.top': False, 'axes.spines.right': False, 'axes.grid': True, 'grid.color': '#e4e4e4', 'lines.linewidth': 2,
    'lines.markersize': 4.5, 'figure.facecolor': 'white', 'xtick.color': '#444444', 'ytick.color': '#444444'})


def read(name):
    """The rows of doc/data/name.csv as dictionaries, numbers as float, empty cells as None."""
    def value(x):
        try:
            return float(x) if x else None
        except ValueError:
            return x
    with open(os.path.join(here, 'data', name + '.csv'), encoding='utf-8') as f:
        return [{k: value(x) for k, x in row.items()} for row in csv.DictReader(line for line in f if line[0] != '#')]


def line(ax, rows, x, y, color, label, style='o-', at=-1, dx=6, dy=0, ha='left'):
    """A line with its label beside point `at`."""
    rows = [r for r in rows if r[y] is not None]
    ax.plot([r[x] for r in rows], [r[y] for r in rows], style, color=color, clip_on=False)
    ax.annotate(label, (rows[at][x], rows[at][y]), (dx, dy), textcoords='offset points', color=color, va='center', ha=ha)


def names(ax, texts):
    """A row for each text, the first on top."""
    ax.set_yticks(range(len(texts)), texts)
    ax.tick_params(axis='y', length=0)
    ax.set_ylim(len(texts) - 0.4, -0.6)
    ax.grid(False, axis='y')


def plain(axis):
    """10 and 0.1 instead of powers on a logarithmic axis."""
    axis.set_major_formatter(FuncFormatter(lambda v, _: f'{v:g}'))
    axis.set_minor_formatter(NullFormatter())


def panels(titles, ylabel, **settings):
    """Two panels side by side, with room for the labels of their lines; their y axes are the same."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    for ax, title in zip(axes, titles):
        ax.set(title=title, **({'xlabel': 'degree', 'xlim': (0.8, 8.2)} | settings))
    axes[0].set_ylabel(ylabel)
    if settings.get('yscale') == 'log':
        plain(axes[0].yaxis)
    fig.subplots_adjust(wspace=0.5 if 'xlabel' not in settings else 0.1)  # lines against the degree end at labels
    return axes


def rivals():
    ax, rows = plt.subplots(figsize=(8, 3.9))[1], read('rivals')
    for i, r in enumerate(rows):
        color, low, high = BLUE if r['ours'] else GREY, r['solve_low'], r['solve_high']
        ax.plot([0.01, low], [i, i], color=color, lw=1, alpha=0.5)
        ax.plot([low, high], [i, i], 'o-', color=color, lw=5, ms=9)
        text = f'{low:g} to {high:g} s' if high > low else f'{low:g} s'
        ax.annotate(text, (high, i), (9, 0), textcoords='offset points', va='center', color='#222222')
    names(ax, [r['solver'] for r in rows])
    ax.set(xscale='log', xlim=(0.01, 100), xlabel='seconds of one solve to a relative residual of 1e-9 (log scale)')
    ax.set_title('Poisson, Q3, 912,673 unknowns, one CPU core')
    plain(ax.xaxis)


def size():
    axes = panels(('V-cycles, mixed precision', 'Full cycles, double precision'), 'million unknowns solved a second',
                  xscale='log', yscale='log', xlabel='unknowns', xlim=(2.5e3, 6e8))
    for ax, y, dy3 in zip(axes, ('v_mixed', 'f_double'), (8, -6)):
        for k, color, at, dx, dy in ((1, RED, -1, 24, -7), (3, BLUE, -1, 22, dy3), (5, GREEN, 0, -7, 0), (7, PURPLE, 0, -7, 6)):
            line(ax, [r for r in read('size') if r['k'] == k], 'unknowns', y, color, f'Q{k}', at=at, dx=dx, dy=dy, ha='right')


def degree():
    for ax, kind, apart in zip(panels(PRECISIONS, 'picoseconds an unknown', yscale='log', ylim=(1, 700)), ('', '_float'), (0, 6)):
        for y, color, label, style, dy in (
                ('published_step', GREY, 'step, published', 'o-', 0), ('published_apply', GREY, 'A x, published', 's--', apart),
                ('step', BLUE, 'smoothing step', 'o-', -apart), ('apply', RED, 'A x', 'o-', 3),
                ('prolong', GREEN, 'prolongation', 'o-', 3), ('restrict', ORANGE, 'restriction', 'o-', -4)):
            line(ax, read('degree'), 'k', y + kind, color, label, style, dy=dy)


def cpu():
    axes = panels(('One core', 'Two cores, one rank on each'), 'nanoseconds an unknown', yscale='log', ylim=(0.6, 300))
    line(axes[0], read('cpu'), 'k', 'aij', GREY, 'A x, assembled')
    for ax, cores in zip(axes, ('', 'two_')):
        for y, color, label, style in (('step', BLUE, 'smoothing step', 'o-'), ('step_float', BLUE, 'step, single', 'o--'),
                                       ('apply', RED, 'A x', 'o-'), ('apply_float', RED, 'A x, single', 'o--')):
            line(ax, read('cpu'), 'k', cores + y, color, label, style)


def roofline():
    for ax, kind in zip(panels(PRECISIONS, 'per cent of the rate of a copy', ylim=(0, 100)), ('', '_float')):
        for operation, color, label, dy in (('step', BLUE, 'smoothing step', 0), ('A x', RED, 'A x', 0),
                                            ('restrict', ORANGE, 'restriction', 0), ('prolong', GREEN, 'prolongation', 6)):
            line(ax, [r for r in read('roofline') if r['operation'] == operation], 'k', 'copy' + kind, color, label, dy=dy)


def gpus():
    ax, rows = plt.subplots(figsize=(8, 4.2))[1], read('gpus')
    colors = {'V-cycles': BLUE, 'direct': GREEN, 'multigrid': RED, 'CG': PURPLE}
    for i, r in enumerate(rows):
        value = {'efficiency': r['two'], 'rate': r['two'] / r['one'] / 2}.get(r['unit'], r['one'] / r['two'])
        ax.barh(i, value, 0.66, color=colors[r['what']])
        ax.text(value - 0.01, i, f'{value:.2f}', ha='right', va='center', color='white')
    names(ax, [f"{r['problem']}, {r['what']}, {r['unknowns_a_gpu'] / 1e6:.0f} million" for r in rows])
    ax.set(xlim=(0, 1.02), xlabel='efficiency on two GPUs with twice the unknowns', title='Problem, solver, unknowns on each GPU')


def breakdown():
    ax, rows = plt.subplots(figsize=(8, 3))[1], read('breakdown')
    for i, r in enumerate(rows):
        left, r['rest'] = 0, r['rest'] + r['coarsest'] + r['zero']
        for key, label, color, ink in (('smoother', 'smoother', BLUE, 'white'), ('operator', 'operator, residuals', SKY, '#222222'),
                                       ('transfers', 'transfers', GREEN, 'white'), ('krylov', 'Krylov method', RED, 'white'),
                                       ('rest', 'rest', '#bbbbbb', '#222222')):
            ax.barh(i, r[key], 0.62, left, color=color, label=None if i else label)
            if r[key] > 30:
                ax.text(left + r[key] / 2, i, f'{r[key]:.0f}', ha='center', va='center', color=ink)
            left += r[key]
    names(ax, [r['solve'] for r in rows])
    ax.legend(ncol=5, loc='lower left', bbox_to_anchor=(-0.22, 1), frameon=False, handlelength=1, columnspacing=1.2)
    ax.set_xlabel('picoseconds an unknown, one solve to 1e-9')


def taylorgreen():
    axes, rows = plt.subplots(1, 2, figsize=(9, 3.4))[1], read('taylorgreen')
    for ax, y, color in ((axes[0], 'energy', BLUE), (axes[1], 'dissipation', RED)):
        line(ax, rows, 'time', y, color, '', style='-')
        ax.set(title=y.capitalize(), xlabel='time', xlim=(0, 10), ylim=(0, None))


for plot in (rivals, size, degree, cpu, roofline, gpus, breakdown, taylorgreen):
    plot()
    file = os.path.join(here, 'pictures', plot.__name__ + '.svg')
    plt.savefig(file, bbox_inches='tight', metadata={'Date': None, 'Creator': None})
    plt.close()
