/*
  Set-up of a DMBOX: it checks the parameters, distributes the cells over the ranks, and makes the lines and the boxes of owned and
  ghosted nodes.

  Each rank has the whole decomposition (`splits`).
*/
#include <patchfd/private/boximpl.h>
#include <patchfd/private/sysimpl.h>
#include <patchfd/private/vecimpl.h>

/* ------------------------------------------------ checks ------------------------------------------------ */

static PetscErrorCode DMBoxCheckVertices(DM dm, PetscInt d)
{
  DM_Box          *box  = (DM_Box *)dm->data;
  const MPI_Comm   comm = PetscObjectComm((PetscObject)dm);
  const PetscInt   n    = box->nvertices[d];
  const PetscReal *v    = box->vertices[d];

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n == box->cells[d] + 1, comm, PETSC_ERR_ARG_INCOMP,
             "DMBoxSetVertices() gave %" PetscInt_FMT " vertices for direction %" PetscInt_FMT
             ", but -dm_box_cells (DMBoxSetCells()) asks for %" PetscInt_FMT " cells, which have %" PetscInt_FMT,
             n, d, box->cells[d], box->cells[d] + 1);
  PetscCheck(box->lower[d] == v[0] && box->upper[d] == v[n - 1], comm, PETSC_ERR_ARG_INCOMP,
             "Direction %" PetscInt_FMT " has bounds [%g, %g] from -dm_box_lower, -dm_box_upper (DMBoxSetBounds()), but DMBoxSetVertices() "
             "gave it vertices from %g to %g",
             d, (double)box->lower[d], (double)box->upper[d], (double)v[0], (double)v[n - 1]);
  for (PetscInt i = 0; i < n - 1; i++) {
    PetscCheck(v[i + 1] > v[i] && !PetscIsInfOrNanReal(v[i]) && !PetscIsInfOrNanReal(v[i + 1]), comm, PETSC_ERR_ARG_OUTOFRANGE,
               "DMBoxSetVertices() gave direction %" PetscInt_FMT " vertex %" PetscInt_FMT
               " at %g and the next at %g; vertices must be finite and increase",
               d, i, (double)v[i], (double)v[i + 1]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckRing(DM dm, PetscInt d)
{
  const DM_Box            *box  = (const DM_Box *)dm->data;
  const DMBoxBoundaryType *type = &box->boundary[2 * d];
  const MPI_Comm           comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  if (type[0] != DMBOX_BOUNDARY_PERIODIC && type[1] != DMBOX_BOUNDARY_PERIODIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(type[0] == type[1], comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_boundary (DMBoxSetBoundary()) is %s at the lower and %s at the upper side of direction %" PetscInt_FMT
             "; both sides of a direction are periodic, or none",
             DMBoxBoundaryTypes[type[0]], DMBoxBoundaryTypes[type[1]], d);
  PetscCheck(box->cells[d] >= 2, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_boundary (DMBoxSetBoundary()) is periodic in direction %" PetscInt_FMT ", which has %" PetscInt_FMT
             " cell (-dm_box_cells); it must have 2 or more",
             d, box->cells[d]);
  PetscCheck(box->op->rings, comm, PETSC_ERR_SUP,
             "-dm_box_boundary (DMBoxSetBoundary()) is periodic in direction %" PetscInt_FMT
             "; -dm_box_operator %s has no periodic sides, those of the library have them",
             d, box->op->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cells, bounds and sides of direction d */
static PetscErrorCode DMBoxCheckDirection(DM dm, PetscInt d)
{
  const DM_Box  *box  = (const DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);
  PetscReal      h, smallest;

  PetscFunctionBegin;
  PetscCheck(box->cells[d] >= 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_cells (DMBoxSetCells()) has %" PetscInt_FMT " cells in direction %" PetscInt_FMT "; it must be at least 1",
             box->cells[d], d);
  PetscCheck(!PetscIsInfOrNanReal(box->lower[d]) && !PetscIsInfOrNanReal(box->upper[d]) &&
               !PetscIsInfOrNanReal(box->upper[d] - box->lower[d]),
             comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_lower, -dm_box_upper (DMBoxSetBounds()) are %g, %g in direction %" PetscInt_FMT "; they must be finite",
             (double)box->lower[d], (double)box->upper[d], d);
  PetscCheck(box->upper[d] > box->lower[d], comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_upper %g is not larger than -dm_box_lower %g (DMBoxSetBounds()) in direction %" PetscInt_FMT, (double)box->upper[d],
             (double)box->lower[d], d);
  h        = (box->upper[d] - box->lower[d]) / PetscPowRealInt(2, box->refine) / (PetscReal)box->cells[d];
  smallest = PetscMax(PetscSqrtReal(PETSC_REAL_MIN),
                      100 * PETSC_MACHINE_EPSILON * PetscMax(PetscAbsReal(box->lower[d]), PetscAbsReal(box->upper[d])));
  PetscCheck(h > smallest, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "[%g, %g] in direction %" PetscInt_FMT " (-dm_box_lower, -dm_box_upper) cannot be divided into %" PetscInt_FMT
             " cells (-dm_box_cells) "
             "refined %" PetscInt_FMT " times (-dm_refine): they would be as small as rounding errors",
             (double)box->lower[d], (double)box->upper[d], d, box->cells[d], box->refine);
  for (PetscInt e = 0; e < 2; e++) {
    const DMBoxBoundaryType type = box->boundary[2 * d + e];

    PetscCheck(type >= DMBOX_BOUNDARY_DIRICHLET && type <= DMBOX_BOUNDARY_SYMMETRY, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_boundary (DMBoxSetBoundary()) is %d at the %s side of direction %" PetscInt_FMT
               "; it must be dirichlet, neumann, supported, periodic or symmetry",
               (int)type, e ? "upper" : "lower", d);
    PetscCheck(box->symmetry[2 * d + e] == PETSC_DETERMINE || (type == DMBOX_BOUNDARY_SYMMETRY && box->space == DMBOX_SPACE_VQ), comm,
               PETSC_ERR_ARG_INCOMP,
               "-dm_box_symmetry_components (DMBoxSetSymmetryComponents()) is %" PetscInt_FMT " at the %s side of direction %" PetscInt_FMT
               ", which is %s, of -dm_box_space %s; it is for symmetry and vq, take determine or -1 for others",
               box->symmetry[2 * d + e], e ? "upper" : "lower", d, DMBoxBoundaryTypes[type], DMBoxSpaces[box->space]);
    PetscCheck(type != DMBOX_BOUNDARY_SYMMETRY || box->space == DMBOX_SPACE_VQ || box->space == DMBOX_SPACE_RT, comm, PETSC_ERR_ARG_INCOMP,
               "-dm_box_boundary (DMBoxSetBoundary()) is symmetry at the %s side of direction %" PetscInt_FMT
               ", which is for vector fields, -dm_box_space vq and rt (DMBoxSetSpace()); this DMBOX has %s",
               e ? "upper" : "lower", d, DMBoxSpaces[box->space]);
  }
  PetscCall(DMBoxCheckRing(dm, d));
  PetscCall(DMBoxCheckVertices(dm, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckInput(DM dm)
{
  DM_Box        *box  = (DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  PetscCheck(dm->dim >= 1 && dm->dim <= 3, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_dim (DMSetDimension()) is %" PetscInt_FMT "; it must be 1, 2 or 3", dm->dim);
  PetscCheck(box->degree >= 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-dm_box_degree (DMBoxSetDegree()) is %" PetscInt_FMT "; it must be at least 1", box->degree);
  PetscCheck(box->space == DMBOX_SPACE_Q || box->space == DMBOX_SPACE_DGQ || box->space == DMBOX_SPACE_RT || box->space == DMBOX_SPACE_P1 ||
               box->space == DMBOX_SPACE_VQ,
             comm, PETSC_ERR_ARG_OUTOFRANGE, "-dm_box_space (DMBoxSetSpace()) is %d; it must be q, dgq, rt, p1 or vq", (int)box->space);
  PetscCheck(box->space != DMBOX_SPACE_P1 || box->degree == 1, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is p1, which has degree 1, but -dm_box_degree (DMBoxSetDegree()) is %" PetscInt_FMT,
             box->degree);
  PetscCheck(box->space != DMBOX_SPACE_RT || dm->dim > 1, comm, PETSC_ERR_ARG_INCOMP,
             "-dm_box_space (DMBoxSetSpace()) is rt, which has 2 or 3 dimensions, but -dm_box_dim (DMSetDimension()) is %" PetscInt_FMT,
             dm->dim);
  PetscCheck(box->refine >= 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "-dm_refine is %" PetscInt_FMT "; it must be at least 0", box->refine);
  for (PetscInt d = 0; d < dm->dim; d++) PetscCall(DMBoxCheckDirection(dm, d));
  PetscCall(DMBoxCheckMapping(dm));
  PetscCall(DMBoxCheckCoarsening(dm));
  if (box->op->ops.check) PetscCall((*box->op->ops.check)(dm, box->op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt DMBoxNumFields(DM dm)
{
  const DMBoxSpace space = ((DM_Box *)dm->data)->space;

  if (space == DMBOX_SPACE_RT) return dm->dim + 1;
  return space == DMBOX_SPACE_VQ ? dm->dim : 1;
}

/* the space of a field in direction d: a component of a Raviart-Thomas velocity is continuous, of one degree more, in its own direction */
static void DMBoxFieldSpace(DM dm, PetscInt field, PetscInt d, PatchFDContinuity *continuity, PetscInt *degree)
{
  const DM_Box   *box = (const DM_Box *)dm->data;
  const PetscBool own = (PetscBool)(box->space == DMBOX_SPACE_RT && field == d);

  *continuity = DMBoxIsContinuous(box) || own ? PATCHFD_CONTINUOUS : PATCHFD_DISCONTINUOUS;
  *degree     = box->degree + (own ? 1 : 0);
}

/* in double, which cannot overflow */
static PetscErrorCode DMBoxCheckSize(DM dm)
{
  DM_Box   *box   = (DM_Box *)dm->data;
  PetscReal total = 0;

  PetscFunctionBegin;
  for (PetscInt f = 0; f < DMBoxNumFields(dm); f++) {
    PetscReal size = 1;

    for (PetscInt d = 0; d < dm->dim; d++) {
      const PetscReal   cells = PetscPowRealInt(2, box->refine) * (PetscReal)box->cells[d];
      PatchFDContinuity continuity;
      PetscInt          degree;

      DMBoxFieldSpace(dm, f, d, &continuity, &degree);
      size *= continuity == PATCHFD_DISCONTINUOUS ? cells * (PetscReal)(degree + 1) : cells * (PetscReal)degree + 1;
    }
    total += size;
  }
  PetscCheck(total<(PetscReal)PETSC_INT_MAX, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_OUTOFRANGE,
                   "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells of degree %" PetscInt_FMT ", refined %" PetscInt_FMT
                   " times (-dm_box_cells, -dm_box_degree, -dm_refine), "
                   "have %g unknowns, but PetscInt ends at %" PetscInt_FMT "; %s",
                   box->cells[0], dm->dim> 1
               ? box->cells[1]
               : 1,
             dm->dim > 2 ? box->cells[2] : 1, box->degree, box->refine, (double)total, PETSC_INT_MAX,
             PetscDefined(USE_64BIT_INDICES) ? "use fewer" : "use fewer, or configure PETSc with --with-64-bit-indices");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ decomposition ------------------------------------------------ */

/*
  Of all grids with as many processes as there are, at most one a cell, take the one for which a V-cycle sends and copies least; x is cut
  last.  A level exchanges values 6 times across slabs, 16 and 29 times where two or three directions are cut, with neighbours in one of
  them at a time (doc/log/gpus.md), and smoothers copy three vectors unless slabs have the ghosts of the last direction at their ends.
  Sending a word takes as long as moving 8 in memory: 2 and less between processes of a machine, 18 between GPUs.
*/
static PetscReal DMBoxProcessesCost(const DM_Box *box, PetscInt dim, const PetscInt p[])
{
  static const PetscReal exchanges[4] = {0, 6. / 1, 16. / 2, 29. / 3}; /* in a direction, by the number of those that are cut */
  const PetscReal        send = 8, cells = (PetscReal)box->cells[0] * (PetscReal)box->cells[1] * (PetscReal)box->cells[2];
  PetscReal              faces = 0;
  PetscInt               cut   = 0;

  for (PetscInt d = 0; d < dim; d++) {
    cut += p[d] > 1;
    faces += (PetscReal)(p[d] - 1) * cells / (PetscReal)box->cells[d];
  }
  return send * 2 * exchanges[cut] * faces + (cut > (p[dim - 1] > 1) ? 3 * 2 * cells : 0);
}

static PetscErrorCode DMBoxChooseProcesses(DM dm)
{
  DM_Box     *box = (DM_Box *)dm->data;
  PetscInt   *P = box->processes, best[3] = {0, 0, 0}, p[3];
  PetscReal   cost = PETSC_MAX_REAL;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  for (p[0] = 1; p[0] <= PetscMin(size, box->cells[0]); p[0]++) {
    if (size % p[0] || (P[0] > 0 && p[0] != P[0])) continue;
    for (p[1] = 1; p[1] <= PetscMin(size / p[0], box->cells[1]); p[1]++) {
      PetscReal c;

      p[2] = size / p[0] / p[1];
      if (p[0] * p[1] * p[2] != size || p[2] > box->cells[2]) continue;
      if ((P[1] > 0 && p[1] != P[1]) || (P[2] > 0 && p[2] != P[2])) continue;
      c = DMBoxProcessesCost(box, dm->dim, p);
      if (c < cost) {
        cost = c;
        PetscCall(PetscArraycpy(best, p, 3));
      }
    }
  }
  PetscCheck(cost < PETSC_MAX_REAL, PetscObjectComm((PetscObject)dm), PETSC_ERR_ARG_INCOMP,
             "Cannot arrange %d MPI processes over %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " cells with "
             "-dm_box_processes (DMBoxSetProcesses()) %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " (%d: any): "
             "the product must be %d, with no more processes than cells in any direction; use more cells, -dm_refine or fewer processes",
             size, box->cells[0], box->cells[1], box->cells[2], P[0], P[1], P[2], PETSC_DECIDE, size);
  PetscCall(PetscArraycpy(P, best, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DMBoxCheckProcesses(DM dm)
{
  DM_Box        *box  = (DM_Box *)dm->data;
  const MPI_Comm comm = PetscObjectComm((PetscObject)dm);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    if (d >= dm->dim) box->processes[d] = 1;
    PetscCheck(box->processes[d] >= 1 || box->processes[d] == PETSC_DECIDE, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-dm_box_processes (DMBoxSetProcesses()) is %" PetscInt_FMT " in direction %" PetscInt_FMT
               "; it must be at least 1, or %d (PETSC_DECIDE)",
               box->processes[d], d, PETSC_DECIDE);
    PetscCheck(box->processes[d] <= box->cells[d], comm, PETSC_ERR_ARG_INCOMP,
               "-dm_box_processes (DMBoxSetProcesses()) is %" PetscInt_FMT " in direction %" PetscInt_FMT ", which has only %" PetscInt_FMT
               " cells",
               box->processes[d], d, box->cells[d]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DM that comes from another one has its splits already, and may then have fewer cells than ranks. */
static PetscErrorCode DMBoxDistribute(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  if (box->splits[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMBoxCheckProcesses(dm));
  PetscCall(DMBoxChooseProcesses(dm));
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt P = box->processes[d], N = box->cells[d];

    PetscCall(PetscMalloc1(P + 1, &box->splits[d]));
    for (PetscInt p = 0; p <= P; p++) box->splits[d][p] = (PetscInt)((PetscInt64)p * N / P);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ------------------------------------------------ lines and boxes ------------------------------------------------ */

static PetscErrorCode DMBoxApplyRefinement(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  for (; box->refine; box->refine--, dm->levelup++)
    for (PetscInt d = 0; d < dm->dim; d++) {
      box->cells[d] *= 2;
      if (box->nvertices[d]) PetscCall(DMBoxBisect(&box->nvertices[d], &box->vertices[d]));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The directions that the problem does not have are points. */
static void DMBoxFlattenDirections(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  for (PetscInt d = dm->dim; d < 3; d++) {
    box->cells[d]        = 1;
    box->lower[d]        = 0;
    box->upper[d]        = 1;
    box->boundary[2 * d] = box->boundary[2 * d + 1] = DMBOX_BOUNDARY_NEUMANN;
  }
}

/* the fields of the space */
static PetscErrorCode DMBoxCreateFields(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  box->nfield = DMBoxNumFields(dm);
  box->ghost  = DMBoxLayers(box);
  for (PetscInt f = 0; f < box->nfield; f++) {
    for (PetscInt d = 0; d < 3; d++) {
      PatchFDContinuity continuity;
      PetscInt          degree;

      DMBoxFieldSpace(dm, f, d, &continuity, &degree);
      PetscCall(DMBoxCreateLine(dm, continuity, degree, d, &box->field[f].line[d]));
      for (int e = 0; e < 2 && d < dm->dim; e++) { /* a plane of symmetry fixes the component across it alone */
        const PetscInt given = box->symmetry[2 * d + e], fixed = given == PETSC_DETERMINE ? d : given;

        if (box->boundary[2 * d + e] == DMBOX_BOUNDARY_SYMMETRY && f != fixed) box->field[f].line[d].dirichlet[e] = PETSC_FALSE;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void DMBoxSetRoom(DM dm)
{
  DM_Box           *box = (DM_Box *)dm->data;
  const DMBoxField *f   = &box->field[0];
  const PetscInt    d   = dm->dim - 1;

  box->room[0] = box->room[1] = 0;
  if (!DMBoxHasRoom(dm)) return;
  box->room[0] = (size_t)(f->own[d][0] - f->local.lo[d]) * PatchFDBoxSize(&f->local) / (size_t)f->local.n[d];
  box->room[1] = box->nlocal - box->nglobal - box->room[0];
}

static PetscErrorCode DMBoxCreateBoxes(DM dm)
{
  DM_Box     *box = (DM_Box *)dm->data;
  PetscMPIInt rank;
  PetscInt    r;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)dm), &rank));
  r = rank;
  for (PetscInt d = 0; d < 3; d++) {
    box->coord[d] = r % box->processes[d];
    r /= box->processes[d];
    for (int e = 0; e < 2; e++) box->owncells[d][e] = box->field[0].line[d].turn + box->splits[d][box->coord[d] + e];
  }
  box->nglobal = box->nlocal = 0;
  for (PetscInt i = 0; i < box->nfield; i++) {
    DMBoxField *f = &box->field[i];

    for (PetscInt d = 0; d < 3; d++) {
      PetscInt first, end;

      PatchFDLineFree(&f->line[d], &f->free[d][0], &f->free[d][1]);
      DMBoxOwnRange(box, f, d, box->coord[d], &f->own[d][0], &f->own[d][1]);
      f->global.lo[d] = f->own[d][0];
      f->global.n[d]  = f->own[d][1] - f->own[d][0];
      DMBoxLocalRange(box, f, d, box->coord[d], &first, &end);
      f->local.lo[d] = first;
      f->local.n[d]  = end - first;
    }
    f->global0 = box->nglobal;
    f->local0  = box->nlocal;
    box->nglobal += PatchFDBoxSize(&f->global);
    box->nlocal += PatchFDBoxSize(&f->local);
  }
  DMBoxSetRoom(dm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMSetUp_Box(DM dm)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PATCHFD_SetUp, dm, 0, 0, 0));
  PetscCall(DMBoxCheckCoordinates(dm));
  PetscCall(DMBoxCheckInput(dm));
  PetscCall(DMBoxCheckSize(dm));
  PetscCall(DMBoxSetUpMappingFile(dm));
  PetscCall(DMBoxApplyRefinement(dm));
  DMBoxFlattenDirections(dm);
  PetscCall(DMBoxDistribute(dm));
  PetscCall(DMBoxCreateFields(dm));
  PetscCall(DMBoxCreateBoxes(dm));
  PetscCall(DMBoxHaloCreate(dm));
  PetscCall(DMBoxSetUpMapping(dm));
  PetscCall(DMBoxSetUpCoordinates(dm));
  PetscCall(PetscLogEventEnd(PATCHFD_SetUp, dm, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode DMBoxResetLayout(DM dm)
{
  DM_Box *box = (DM_Box *)dm->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < box->nfield; i++) {
    for (PetscInt d = 0; d < 3; d++) PetscCall(PatchFDLineDestroy(&box->field[i].line[d]));
  }
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscFree(box->splits[d]));
    for (PetscInt i = 0; i <= DMBOX_MAX_FIELDS; i++) PetscCall(PetscFree(box->owned[i][d]));
  }
  for (PetscInt id = 0; id < PATCHFD_NUM_KERNELS; id++) {
    for (PetscInt slot = 0; slot < DMBOX_NUM_WORK; slot++) {
      if (box->work[id][slot]) PetscCall((*box->kernels[id]->free)(box->work[id][slot]));
      box->work[id][slot] = NULL;
    }
  }
  PetscCall(DMBoxHaloDestroy(dm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
