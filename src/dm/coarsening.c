/* Which directions of a DMBOX coarsenings halve, how many there are, and what users set for them */
#include <patchfd/private/boximpl.h> /*I "petscpatchfd.h" I*/
#include <patchfd/private/vecimpl.h>

PetscReal DMBoxMeanCellSize(const DM_Box *box, PetscInt d)
{
  const PetscReal *v   = box->vertices[d];
  PetscReal        sum = 0;

  if (!v) return (box->upper[d] - box->lower[d]) / (PetscReal)box->cells[d];
  for (PetscInt i = 0; i < box->cells[d]; i++) sum += PetscLogReal(v[i + 1] - v[i]);
  return PetscExpReal(sum / (PetscReal)box->cells[d]);
}

/*
  Cells twice as long as wide, whose couplings are as 1 to 4, cost full coarsening a third more iterations at most, which an additional
  level would, too; four times as long it takes twice as many.  On mapped meshes the mean hides cells that are longer, and skewed ones
  cost more: Kershaw's, with couplings as 1 to 3, takes half of the iterations if all but one direction are halved
*/
static PetscReal Threshold(const DM_Box *box)
{
  if (box->semicoarsening != (PetscReal)PETSC_DETERMINE) return box->semicoarsening;
  return !box->op->ops.coupling ? 0 : box->op->mapped ? 0.5 : 0.17;
}

PetscErrorCode DMBoxCheckCoarsening(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  PetscCheck(box->semicoarsening <= 0 || box->op->ops.coupling, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "-dm_box_semicoarsening (DMBoxSetSemicoarsening()) is %g; -dm_box_operator %s takes 0, all directions are halved together: "
             "poisson and diffusion take a threshold",
             (double)box->semicoarsening, box->op->name);
  PetscCheck(box->galerkin != PETSC_BOOL3_TRUE || box->op->ops.contrast, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "-dm_box_galerkin (DMBoxSetGalerkin()) is true; -dm_box_operator %s takes false, diffusion takes true", box->op->name);
  PetscCheck(box->galerkin != PETSC_BOOL3_TRUE || box->degree <= DMBOX_GALERKIN_MAX_DEGREE, PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
             "-dm_box_galerkin (DMBoxSetGalerkin()) is true with -dm_box_degree %" PetscInt_FMT "; it takes 1 to %d", box->degree,
             DMBOX_GALERKIN_MAX_DEGREE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* did coarsenings that led here leave out a direction? */
static PetscBool DMBoxIsUneven(DM dm)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  for (PetscInt d = 1; d < dm->dim; d++)
    if (box->halved[d] != box->halved[0]) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* It is decided when somebody asks for the first time, and remains until DMBoxUpdateCoarsening(): solvers count levels before they make
   them */
PetscErrorCode DMBoxCoarseningBegin(DM dm, DMBoxCoarsening *c)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  *c = (DMBoxCoarsening){.dim = dm->dim, .coupling = {1, 1, 1}, .uneven = DMBoxIsUneven(dm)};
  if (dm->setupcalled) {
    c->threshold = Threshold(box);
    if (!box->coupled) {
      PetscCall(PetscArraycpy(box->coupling, c->coupling, 3));
      if (box->op->ops.coupling && dm->dim > 1) PetscCall((*box->op->ops.coupling)(dm, box->op, box->coupling));
      box->coupled        = PETSC_TRUE;
      box->coupledversion = box->op->version;
      PetscCall(PetscArraycpy(box->coupledfor, box->op->coefficient, DMBOX_MAX_COEFFICIENTS));
    }
    if (c->threshold > 0) PetscCall(PetscArraycpy(c->coupling, box->coupling, 3));
  }
  for (PetscInt d = 0; d < dm->dim; d++) {
    c->cells[d] = box->cells[d];
    c->ring[d]  = DMBoxIsRing(box, d);
  }
  c->even = (PetscBool)(box->space == DMBOX_SPACE_P1);
  c->few  = box->op->ops.coupling ? 0 : 64;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the cell that an odd number leaves as it is lies at the end where cells are larger, which makes them more equal */
PatchFDUnion DMBoxUniteCells(const DM_Box *box, PetscInt d, PetscBool halve)
{
  const PetscReal *v = box->vertices[d];
  const PetscInt   n = box->cells[d];
  PatchFDUnion     u = {.ratio = halve ? 2 : 1, .fine = &box->field[0].line[d]};

  u.before = halve && n % 2 && v && v[1] - v[0] > (1 + 1e-6) * (v[n] - v[n - 1]);
  return u;
}

/*
  A mesh that has a coarser one has patches.  Directions of at most two cells, which are within patches, do not stop the others, but where
  nobody knows the couplings and few cells are left: a beam of 12 x 2 x 2 takes two thirds of the iterations if it is solved exactly.
  Halving a direction divides its coupling by four
*/
PetscBool DMBoxCoarseningNext(DMBoxCoarsening *c, PetscBool halve[3], PetscInt *end)
{
  PetscReal largest = -1;
  PetscInt  cells = 1, least = 3;

  *end = 0;
  for (PetscInt d = 0; d < c->dim; d++) {
    cells *= PetscMin(c->cells[d], 1024);
    least = PetscMin(least, c->cells[d]);
    if (c->cells[d] > 2) largest = PetscMax(largest, c->coupling[d]);
    if (c->even && (c->cells[d] < 4 || c->cells[d] % 2)) {
      *end = d;
      return PETSC_FALSE;
    }
  }
  if (largest < 0 || (least <= 2 && cells <= c->few)) return PETSC_FALSE;
  for (PetscInt d = 0; d < 3; d++) { /* less by more than rounding, which the means of several ranks have */
    halve[d] = (PetscBool)(d < c->dim && c->cells[d] > 2 && c->coupling[d] >= (1 - 1e-6) * c->threshold * largest);
    if (halve[d] && c->ring[d] && c->cells[d] % 2) {
      *end = d;
      return PETSC_FALSE;
    }
  }
  for (PetscInt d = 0; d < c->dim; d++) {
    c->uneven = (PetscBool)(c->uneven || !halve[d]);
    if (!halve[d]) continue;
    c->cells[d] = (c->cells[d] + 1) / 2;
    c->coupling[d] /= 4;
  }
  return PETSC_TRUE;
}

PetscErrorCode DMBoxUpdateCoarsening(DM dm)
{
  DM_Box             *box = (DM_Box *)dm->data;
  const DMBoxOperator op  = box->op;

  PetscFunctionBegin;
  if (box->coupledversion != op->version) box->coupled = PETSC_FALSE;
  for (PetscInt i = 0; i < DMBOX_MAX_COEFFICIENTS; i++)
    if (i != op->mass && box->coupledfor[i] != op->coefficient[i]) box->coupled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxGetHalvings(DM dm, PetscInt n, PetscInt halvings[][3])
{
  DMBoxCoarsening c;
  PetscBool       halve[3];
  PetscInt        end;

  PetscFunctionBegin;
  PetscCall(DMBoxCoarseningBegin(dm, &c));
  PetscCall(PetscArrayzero(halvings[0], 3));
  for (PetscInt l = 0; l < n; l++) {
    PetscCheck(DMBoxCoarseningNext(&c, halve, &end), PetscObjectComm((PetscObject)dm), PETSC_ERR_PLIB,
               "There are less than %" PetscInt_FMT " coarsenings", n);
    for (int d = 0; d < 3; d++) halvings[l + 1][d] = halvings[l][d] + halve[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxViewHalvings(DM dm, PetscViewer viewer)
{
  const DM_Box *box = (const DM_Box *)dm->data;

  PetscFunctionBegin;
  if (!DMBoxIsUneven(dm)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "semicoarsening: of %" PetscInt_FMT " coarsenings", box->coarsenings));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE)); /* the rest of the line */
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscInt n = 0;

    for (PetscInt64 bits = box->halved[d]; bits; bits >>= 1) n += (PetscInt)(bits & 1);
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s %" PetscInt_FMT " halved %c", d ? "," : "", n, (char)('x' + d)));
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxCoarseningDescribe(DM dm, const PetscBool halve[3], size_t size, char text[])
{
  const DM_Box *box     = (const DM_Box *)dm->data;
  PetscReal     largest = 0;
  size_t        n;

  PetscFunctionBegin;
  text[0] = 0;
  for (PetscInt d = 0; d < dm->dim; d++) {
    largest = PetscMax(largest, box->coupling[d]);
    if (halve[d]) PetscCall(PetscStrlcat(text, d == 0 ? "x " : (d == 1 ? "y " : "z "), size));
  }
  PetscCall(PetscStrlcat(text, "(couplings", size));
  for (PetscInt d = 0; d < dm->dim; d++) {
    PetscCall(PetscStrlen(text, &n));
    PetscCall(PetscSNPrintf(text + n, size - n, "%s %.2g", d ? "," : "", (double)(box->coupling[d] / largest)));
  }
  PetscCall(PetscStrlcat(text, ")", size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxViewSemicoarsening(DM dm, PetscViewer viewer)
{
  const DM_Box   *box = (const DM_Box *)dm->data;
  DMBoxCoarsening c;
  PetscBool       halve[3];
  PetscInt        end;
  char            text[128];

  PetscFunctionBegin;
  PetscCall(DMBoxViewHalvings(dm, viewer));
  if (box->semicoarsening != (PetscReal)PETSC_DETERMINE)
    PetscCall(PetscViewerASCIIPrintf(viewer, "semicoarsening threshold %g\n", (double)box->semicoarsening));
  if (!box->coupled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCoarseningBegin(dm, &c));
  if (!DMBoxCoarseningNext(&c, halve, &end) || !c.uneven) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCoarseningDescribe(dm, halve, sizeof(text), text));
  PetscCall(PetscViewerASCIIPrintf(viewer, "semicoarsening: the next coarsening halves %s\n", text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetNumCoarsenings - Returns the number of times that a `DMBOX` can be coarsened

  Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. n - the number of times that `DMCoarsen()` can be called, each on the result of the last

  Level: intermediate

  Notes:
  Cells are united in pairs in all directions of more than two cells, or, with semicoarsening (`DMBoxSetSemicoarsening()`), in those of
  strong coupling, until no direction has more. Of an odd number the cell at one end remains as it is. Around rings numbers must be even,
  and for the space `p1` also at least 4 in all directions. For operators without semicoarsening a mesh of at most 64 cells, at most two in
  one direction, is the coarsest one. `PCMG` can have `n` + 1 levels.

  Before `DMSetUp()` the number does not include refinement by `-dm_refine`, and all directions count as halved.

.seealso: `DMBOX`, `DMCoarsen()`, `DMBoxSetSemicoarsening()`, `DMBoxSetCells()`, `PCMGSetLevels()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxGetNumCoarsenings(DM dm, PetscInt *n)
{
  DM_Box         *box;
  DMBoxCoarsening c;
  PetscBool       halve[3];
  PetscInt        end;

  PetscFunctionBegin;
  PetscAssertPointer(n, 2);
  PetscCall(DMBoxGetContext(dm, &box));
  PetscCall(DMBoxCoarseningBegin(dm, &c));
  for (*n = 0; DMBoxCoarseningNext(&c, halve, &end); (*n)++)
    ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxSetSemicoarsening - Sets the threshold of coupling below which `DMCoarsen()` does not halve a direction of a `DMBOX`

  Logically Collective

  Input Parameters:
+ dm        - the `DM` of type `DMBOX`
- threshold - between 0 and 1: directions with a coupling below this times the largest coupling are not halved; 0 to halve all directions;
              `PETSC_DETERMINE` for the default

  Options Database Key:
. -dm_box_semicoarsening threshold - the threshold

  Level: intermediate

  Notes:
  Patches smooth only in directions of strong coupling if cells are much longer than wide. Coarse meshes then have to keep the other
  directions, until the couplings are alike.

  The coupling of a direction is K_dd / h_d^2, with the diffusion coefficient and the length of the cells. On graded meshes and for
  the operator `diffusion` it is a geometric mean over the mesh; for `diffusion` of the diagonal of |J| J^{-1} K J^{-T}, with J the
  derivative of the map. Halving a direction divides its coupling by four.

  The default is 0.17 for `poisson`: cells may be 2.4 times as long as wide. It is 0.5 for `diffusion`, since a mean hides cells that
  are longer, and skewed ones cost more. It is 0 for all other operators, which take no other value. With 1 only the direction of the
  largest coupling is halved.

  The decision is made at the first call of `DMCoarsen()`, `DMBoxGetNumCoarsenings()` or `PCPATCHMG`. `PCPATCHMG` decides again in a
  set-up with other coefficients, and makes new levels if other directions are to be halved. For other hierarchies, call this
  routine again.

  `DMRefine()` of a mesh made by `DMCoarsen()` doubles the directions that were halved; of any other mesh, all directions.

.seealso: `DMBOX`, `DMBoxGetSemicoarsening()`, `DMBoxGetNumCoarsenings()`, `DMCoarsen()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxSetSemicoarsening(DM dm, PetscReal threshold)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscValidLogicalCollectiveReal(dm, threshold, 2);
  PetscCheck((threshold >= 0 && threshold <= 1) || threshold == (PetscReal)PETSC_DETERMINE, PetscObjectComm((PetscObject)dm),
             PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_semicoarsening (DMBoxSetSemicoarsening()) is %g; it must be between 0 (all directions are halved) and 1 (those of "
             "the strongest coupling), or %d for the default",
             (double)threshold, PETSC_DETERMINE);
  box->semicoarsening = threshold;
  box->coupled        = PETSC_FALSE;
  if (dm->setupcalled) PetscCall(DMBoxCheckCoarsening(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetSemicoarsening - Returns the threshold of coupling below which `DMCoarsen()` does not halve a direction of a `DMBOX`

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. threshold - directions with a coupling below this times the largest coupling are not halved; 0 if all are

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetSemicoarsening()`
@*/
PetscErrorCode DMBoxGetSemicoarsening(DM dm, PetscReal *threshold)
{
  DMBOX_GET(dm, Threshold(box), threshold);
}

/*@
  DMBoxSetGalerkin - Sets whether the meshes that `DMCoarsen()` makes of a `DMBOX` have Galerkin operators

  Logically Collective

  Input Parameters:
+ dm       - the `DM` of type `DMBOX`
- galerkin - `PETSC_BOOL3_TRUE`: P'AP with the operator A of the finer mesh and the interpolation P; `PETSC_BOOL3_FALSE`: the same operator,
             with its coefficients and its map at the points of the coarse mesh;
             `PETSC_BOOL3_UNKNOWN`: the default

  Options Database Key:
. -dm_box_galerkin (true|false|auto) - the choice

  Level: intermediate

  Notes:
  This is for the operator `diffusion`, to degree 8.

  Use Galerkin operators if coefficients jump inside coarse cells by factors of several thousand, as in a channel that is one fine
  cell wide. Functions of the coarse mesh may then be small at all its quadrature points in the channel, but not between them.
  Without Galerkin operators the coarse operator is too small and corrections are too large: multigrid takes many iterations or
  diverges. In other cases, coefficients that are random from cell to cell among them, they take as many iterations or some more.

  The coarse operator is an operator by quadrature with 2 degree + 1 Gauss points in each direction of a cell. Its factors make it
  exactly P'AP: with L_g the polynomial that is 1 at point g and 0 at the others, point g has the sum of L_g(x) w |J| J^{-1} K
  J^{-T} over the points x of the finer cells. Its time and memory are those of so many points, in 3D at degree 4 3.4 times as many
  as otherwise.

  By default a mesh has a Galerkin operator if the finer mesh has one, or if the means of K in two finer cells of one of its cells
  differ by a factor above 10. The decision is made when the mesh is made; later changes of coefficients do not change it. `PCPATCHMG`
  also chooses Galerkin operators from the first mesh on that has cells that fold.

  With `PETSC_BOOL3_TRUE` cells of coarse meshes may fold, since their maps are not used.

.seealso: `DMBOX`, `DMBoxGetGalerkin()`, `DMCoarsen()`, `DMBoxSetDiffusionFunction()`, `DMBoxSetSemicoarsening()`, `PCPATCHMG`
@*/
PetscErrorCode DMBoxSetGalerkin(DM dm, PetscBool3 galerkin)
{
  DM_Box *box;

  PetscFunctionBegin;
  PetscCall(DMBoxGetContext(dm, &box));
  PetscValidLogicalCollectiveEnum(dm, galerkin, 2);
  box->galerkin = galerkin;
  if (dm->setupcalled) PetscCall(DMBoxCheckCoarsening(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  DMBoxGetGalerkin - Returns whether the meshes that `DMCoarsen()` makes of a `DMBOX` have Galerkin operators

  Not Collective

  Input Parameter:
. dm - the `DM` of type `DMBOX`

  Output Parameter:
. galerkin - see `DMBoxSetGalerkin()`

  Level: intermediate

.seealso: `DMBOX`, `DMBoxSetGalerkin()`
@*/
PetscErrorCode DMBoxGetGalerkin(DM dm, PetscBool3 *galerkin)
{
  DMBOX_GET(dm, box->galerkin, galerkin);
}
