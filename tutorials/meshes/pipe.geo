// A pipe with a boundary layer: cells at the wall are 100 times as long as thick.  gmsh -3 pipe.geo
thin = 6; // each layer by that at the wall
For i In {1:4}
  x = Cos(i * Pi / 2 - Pi / 4); y = Sin(i * Pi / 2 - Pi / 4);
  Point(i)      = {0.45 * x, 0.45 * y, 0};
  Point(10 + i) = {x, y, 0};
  Line(20 + i)  = {i, 10 + i};
EndFor
Point(100) = {0, 0, 0};
For i In {1:4}
  j = i % 4 + 1;
  Line(i)        = {i, j};
  Circle(10 + i) = {10 + i, 100, 10 + j};
  Curve Loop(i)  = {20 + i, 10 + i, -(20 + j), -i}; Plane Surface(i) = {i};
EndFor
Curve Loop(5) = {1:4}; Plane Surface(5) = {5};
Transfinite Curve {1:4, 11:14} = 2;
Transfinite Curve {21:24} = 4 Using Progression 1 / thin;
Transfinite Surface {:}; Recombine Surface {:};
out[] = Extrude {0, 0, 4} { Surface {1:5}; Layers {4}; Recombine; };
Mesh.ElementOrder = 2;
Physical Volume("pipe", 1) = {1:5};
Physical Surface("wall", 1) = {out[3], out[9], out[15], out[21]};
Physical Surface("inflow", 2) = {1:5};
