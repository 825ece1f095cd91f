#!/usr/bin/env python3
"""pictures.py PROGRAMS [NAME...]: runs tutorials of the folder PROGRAMS on small meshes, draws pictures/NAME.png off screen with PyVista.

    python3 doc/pictures.py build/bin/tutorials readme stokes     (pip install pyvista; without a display libosmesa6 or libegl1)
"""

import os, subprocess, sys, tempfile

import numpy as np
import pyvista as pv
from PIL import Image, ImageOps

here = os.path.dirname(os.path.abspath(__file__))
heat_part = os.path.join(here, '..', 'tutorials', 'heat_part.py')
folder = tempfile.mkdtemp()
INK = '#30343b'
pv.global_theme.background = 'white'


def run(program, *options):
    subprocess.run([os.path.abspath(os.path.join(sys.argv[1], program)), *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def read(name):
    return pv.read(os.path.join(folder, name))


def scene(width=1200, height=640):
    plotter = pv.Plotter(off_screen=True, window_size=(width, height), lighting='three lights')
    plotter.enable_anti_aliasing('msaa', multi_samples=8)
    plotter.enable_parallel_projection()
    return plotter


def write(plotter, name, direction, up, zoom=1.3):
    plotter.view_vector(direction, viewup=up)
    plotter.camera.zoom(zoom)
    picture = Image.fromarray(plotter.screenshot(transparent_background=False, return_img=True))
    picture = picture.crop(ImageOps.invert(picture.convert('L')).getbbox())
    picture.quantize(256).save(os.path.join(here, 'pictures', name + '.png'), optimize=True)


def poisson():
    """The unit cube without an eighth of it, and lines of equal values on the cuts."""
    run('poisson', '-dm_box_cells', '12', '-ksp_view_solution', 'vtk:u.vts')
    u, plotter = read('u.vts'), scene(900, 700)
    for box, invert in (((0, 0.5, 0, 1, 0, 1), False), ((0.5, 1, 0, 0.5, 0, 1), False), ((0.5, 1, 0.5, 1, 0, 0.5), False)):
        plotter.add_mesh(u.clip_box(box, invert=invert), scalars='u', cmap='magma_r', clim=(0, 1), show_scalar_bar=False, ambient=0.25)
    for origin, normal, box in (
        ((0.5, 0, 0), 'x', (0.499, 0.501, 0.5, 1, 0.5, 1)),
        ((0, 0.5, 0), 'y', (0.5, 1, 0.499, 0.501, 0.5, 1)),
        ((0, 0, 0.5), 'z', (0.5, 1, 0.5, 1, 0.499, 0.501)),
    ):
        lines = u.slice(normal, origin=origin).contour(np.linspace(0.1, 0.9, 9), scalars='u').clip_box(box, invert=False)
        plotter.add_mesh(lines, color='white', line_width=2, lighting=False)
    write(plotter, 'poisson', (2.5, 1.9, 1.7), (0, 0, 1))


def readme():
    """The lower half of the channel, its inclusions, and lines of flux: they follow grad u, since K is a number at each point."""
    run('diffusion', '-contrasts', '20', '-bends', '3', '-inclusions', '6', '-dm_refine', '1', '-ksp_view_solution', 'vtk:u.vts')
    u, plotter = read('u.vts').compute_derivative('u'), scene(1400, 800)
    half = u.clip('z', origin=(0, 0, 0.5))
    plotter.add_mesh(half, scalars='u', cmap='magma', clim=(-0.2, 1.1), show_scalar_bar=False, ambient=0.3)
    plotter.add_mesh(
        half.slice('z', origin=(0, 0, 0.4999)).contour(np.linspace(0.05, 0.95, 19), scalars='u'),
        color='white',
        opacity=0.55,
        line_width=1.5,
        lighting=False,
    )
    plotter.add_mesh(u.extract_feature_edges(), color=INK, line_width=1.5)
    for i in range(6):  # where tutorials/diffusion.c has them
        angle, r = 3 * (i + 0.5) / 6, 1.5 - (0.3 if i % 2 else 0.7)
        plotter.add_mesh(
            pv.Sphere(radius=0.2, center=(r * np.sin(angle), 1 - r * np.cos(angle), 0.5), theta_resolution=60, phi_resolution=60),
            color='#9fb3c8',
            smooth_shading=True,
        )
    for r in np.linspace(0.55, 1.45, 13):
        for z in (0.62, 0.82):
            line = u.streamlines(
                vectors='gradient',
                source_center=(0.01, 1 - r, z),
                source_radius=0,
                n_points=1,
                max_length=8,
                terminal_speed=1e-9,
                integration_direction='both',
            )
            if line.n_points > 1:
                plotter.add_mesh(line.tube(radius=0.007, n_sides=12), color='#efe9dc', smooth_shading=True)
    write(plotter, 'readme', (-0.45, 0, 1), (1, 0, 0))


def stokes():
    """Lines along the flow in a cube; the lid, at the top, slides to the right."""
    run('stokes', '-problem', 'cavity', '-dm_box_dim', '3', '-view_solution', 'vtk:u.vts')
    u, plotter = read('u.vts'), scene(900, 760)
    u['speed'] = np.linalg.norm(u['flow_velocity'], axis=1)
    rng = np.random.default_rng(4)
    seeds = pv.PolyData(np.column_stack([rng.uniform(0.05, 0.95, 90), rng.uniform(0.05, 0.97, 90), rng.uniform(0.1, 0.9, 90)]))
    lines = u.streamlines_from_source(seeds, vectors='flow_velocity', max_length=4, integration_direction='both')
    plotter.add_mesh(lines.tube(radius=0.0045), scalars='speed', cmap='viridis', clim=(0, 0.5), show_scalar_bar=False, specular=0.3)
    plotter.add_mesh(pv.Box((0, 1, 0, 1, 0, 1)).extract_feature_edges(), color=INK, line_width=1.5)
    plotter.add_mesh(pv.Box((0, 1, 1, 1.004, 0, 1)), color='#9fb3c8', opacity=0.25)
    write(plotter, 'stokes', (1.4, 1, 2.9), (0, 1, 0))


def biharmonic():
    run('biharmonic', '-dm_box_boundary', 'dirichlet,dirichlet,supported,supported', '-view_solution', 'vtk:u.vts')
    u, plotter = read('u.vts'), scene(1000, 520)
    bent = u.warp_by_scalar('deflection', factor=-180)
    plotter.add_mesh(bent, scalars='deflection', cmap='viridis_r', show_scalar_bar=False, smooth_shading=True, ambient=0.2)
    plotter.add_mesh(bent.contour(9, scalars='deflection'), color='white', opacity=0.7, line_width=1.5, lighting=False)
    plotter.add_mesh(u.extract_surface(algorithm='dataset_surface').extract_feature_edges(), color=INK, line_width=2)
    write(plotter, 'biharmonic', (1, -1.6, 1.1), (0, 0, 1))


def heat():
    subprocess.run([sys.executable, heat_part, os.path.join(folder, 'heat_part.vtk')], check=True)
    run('heat', '-problem', 'part', '-vtk', 'u')
    names = sorted(name for name in os.listdir(folder) if name.startswith('u_'))
    u, plotter = read(names[-1]), scene(1100, 640)
    body = pv.read(os.path.join(folder, 'heat_part.vtk'))
    u.cell_data['material'] = body.cell_data['material']
    part = u.threshold(0.5, scalars='material')
    plotter.add_mesh(part, scalars=u.point_data.keys()[0], cmap='magma', show_scalar_bar=False, ambient=0.3)
    plotter.add_mesh(part.extract_surface(algorithm='dataset_surface').extract_feature_edges(), color=INK, line_width=1.5)
    write(plotter, 'heat', (0.8, -1.4, 0.9), (0, 0, 1))


def hexahedra():
    """A ball and a pipe, cut open, and a plate with an insert, with the cells of the file for ParaView: the mesh refined twice."""
    plotter, meshes = scene(1500, 560), os.path.join(here, '..', 'tutorials', 'meshes')
    for name, at, cut, options in (
        ('ball', (0, 0, 0), (0, -1, 0), ('-degree', '4')),
        ('pipe', (1.6, 0, 0), (0, -1, 0), ('-degree', '4', '-sides', '1')),
        ('part', (7.2, 0, 0), None, ('-degree', '4', '-sides', '1', '-K', '100,1', '-c', '0.05')),
    ):
        solver = ('-ksp_type', 'fgmres', '-pc_type', 'patchmg', '-refine_view', '2', '-vec_view', 'vtk:u.vtu')
        run('hexahedra', '-dm_plex_filename', os.path.join(meshes, name + '.msh'), *options, *solver)
        u = read('u.vtu')
        if cut:
            u = u.clip(cut, origin=(0, 0, 0))
        if name == 'pipe':
            u = u.rotate_y(90)
        u = u.translate(at)
        name, look = u.point_data.keys()[0], {'show_edges': True, 'edge_color': 'white', 'edge_opacity': 0.3, 'line_width': 1}
        clim = (-0.15 * u[name].max(), u[name].max())
        plotter.add_mesh(u, scalars=name, cmap='magma', clim=clim, show_scalar_bar=False, ambient=0.3, copy_mesh=True, **look)
    write(plotter, 'hexahedra', (0.25, -1.4, 0.9), (0, 0, 1), zoom=1.6)


for name in sys.argv[2:] or ('readme', 'poisson', 'stokes', 'biharmonic', 'heat', 'hexahedra'):
    globals()[name]()
