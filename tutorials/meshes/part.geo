// A plate with a round insert of another material.  gmsh -3 part.geo
For i In {1:4}
  x = Cos(i * Pi / 2 - Pi / 4); y = Sin(i * Pi / 2 - Pi / 4);
  Point(i)      = {0.25 * x, 0.25 * y, 0};
  Point(10 + i) = {0.6 * x, 0.6 * y, 0};
  Point(20 + i) = {Sqrt(2) * x, Sqrt(2) * y, 0};
  Line(30 + i)  = {i, 10 + i};
  Line(40 + i)  = {10 + i, 20 + i};
EndFor
Point(100) = {0, 0, 0};
For i In {1:4}
  j = i % 4 + 1;
  Line(i)        = {i, j};
  Circle(10 + i) = {10 + i, 100, 10 + j};
  Line(20 + i)   = {20 + i, 20 + j};
  Curve Loop(i)     = {30 + i, 10 + i, -(30 + j), -i};        Plane Surface(i) = {i};
  Curve Loop(4 + i) = {40 + i, 20 + i, -(40 + j), -(10 + i)}; Plane Surface(4 + i) = {4 + i};
EndFor
Curve Loop(9) = {1:4}; Plane Surface(9) = {9};
Transfinite Curve {:} = 2;
Transfinite Surface {:}; Recombine Surface {:};
out[] = Extrude {0, 0, 0.5} { Surface {1:9}; Layers {1}; Recombine; };
Mesh.ElementOrder = 2;
Physical Volume("insert", 1) = {1:4, 9};
Physical Volume("plate", 2) = {5:8};
Physical Surface("cold", 1) = {out[27], out[39]};
