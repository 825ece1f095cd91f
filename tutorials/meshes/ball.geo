// A ball: a cube inside, and a block between each of its faces and the sphere.  gmsh -3 ball.geo
n = 1; // cells in a direction of a block
corner[] = {-1,-1,-1, 1,-1,-1, 1,1,-1, -1,1,-1, -1,-1,1, 1,-1,1, 1,1,1, -1,1,1};
end[]    = {1,2, 2,3, 3,4, 4,1, 5,6, 6,7, 7,8, 8,5, 1,5, 2,6, 3,7, 4,8};
Point(100) = {0, 0, 0};
For i In {1:8}
  Point(i)      = {0.3 * corner[3*i-3], 0.3 * corner[3*i-2], 0.3 * corner[3*i-1]};
  Point(10 + i) = {corner[3*i-3] / Sqrt(3), corner[3*i-2] / Sqrt(3), corner[3*i-1] / Sqrt(3)};
  Line(40 + i)  = {i, 10 + i};
EndFor
For k In {1:12}
  a = end[2*k-2]; b = end[2*k-1];
  Line(k)        = {a, b};
  Circle(20 + k) = {10 + a, 100, 10 + b};
  Curve Loop(40 + k) = {k, 40 + b, -(20 + k), -(40 + a)}; Surface(40 + k) = {40 + k};
EndFor
edge[] = {1,2,3,4, 5,6,7,8, 1,10,-5,-9, 2,11,-6,-10, 3,12,-7,-11, 4,9,-8,-12};
For f In {1:6}
  e[] = edge[{4*f-4 : 4*f-1}];
  o[] = {};
  r[] = {};
  For k In {0:3}
    o[] += {e[k] + 20 * (e[k] > 0 ? 1 : -1)};
    r[] += {40 + Fabs(e[k])};
  EndFor
  Curve Loop(f) = {e[]};      Surface(f) = {f};
  Curve Loop(20 + f) = {o[]}; Surface(20 + f) = {20 + f} In Sphere {100};
  Surface Loop(1 + f) = {f, 20 + f, r[]}; Volume(1 + f) = {1 + f};
EndFor
Surface Loop(1) = {1:6}; Volume(1) = {1};
Transfinite Curve {:} = n + 1; Transfinite Surface {:}; Recombine Surface {:}; Transfinite Volume {:};
Mesh.ElementOrder = 2;
Physical Volume("ball", 1) = {1:7};
Physical Surface("sphere", 1) = {21:26};
