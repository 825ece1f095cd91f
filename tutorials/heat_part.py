"""Make heat_part.vtk, an image of 32 x 16 x 16 voxels for tutorials/heat.c -problem part:
a copper plate at x = 0 with a fin of aluminium, which a bar of plastic crosses; 0 is air.

    python3 tutorials/heat_part.py [file]
"""
import sys

N = (32, 16, 16)


def material(i, j, k):
    if i < 6:
        return 1  # copper
    if 4 <= j < 12 and 4 <= k < 12:
        return 3 if 14 <= i < 18 and k >= 8 else 2  # plastic in aluminium
    return 0


name = sys.argv[1] if len(sys.argv) > 1 else 'heat_part.vtk'
with open(name, 'wb') as f:
    f.write(b'# vtk DataFile Version 3.0\npart\nBINARY\nDATASET STRUCTURED_POINTS\nDIMENSIONS %d %d %d\n' % tuple(n + 1 for n in N))
    f.write(b'ORIGIN 0 0 0\nSPACING 0.002 0.002 0.002\nCELL_DATA %d\nSCALARS material unsigned_char 1\nLOOKUP_TABLE default\n' % (N[0] * N[1] * N[2]))
    f.write(bytes(material(i, j, k) for k in range(N[2]) for j in range(N[1]) for i in range(N[0])))
