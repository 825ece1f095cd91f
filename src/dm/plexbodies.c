/* The bodies of a DMPLEX: cells that hang together, and what holds them */
#include <patchfd/private/compat.h>
#include <patchfd/private/plexpoints.h>
#include <petscsf.h>

static PetscInt Root(PetscInt *parent, PetscInt i)
{
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static PetscBool IsFixed(const PlexCells *p, PetscInt node, PetscInt component)
{
  return (PetscBool)(node < 0 || (p->dirichlet && p->dirichlet[node * p->ncomp + component]));
}

/* how many components of a node are fixed */
static PetscInt CountFixed(const PlexCells *p, PetscInt node)
{
  PetscInt n = 0;

  for (PetscInt k = 0; k < p->ncomp; k++) n += IsFixed(p, node, k);
  return n;
}

/* parent: nodes of cells that hang together on this rank have one root; label: numbers of nodes, or -1 at one of a side with h u v.  Nodes
   that are fixed in all components have -1, too, and join nothing */
static void JoinCells(const PlexCells *p, const PlexSides *sides, PetscInt *parent, PetscInt *label)
{
  for (PetscCount c = 0; c < p->ncells; c++) {
    const PetscInt *node  = &p->index[c * p->size];
    PetscInt        first = -1;

    for (PetscInt i = 0; i < p->size; i++) {
      if (node[i] < 0) continue;
      if (CountFixed(p, node[i]) == p->ncomp) label[node[i]] = -1;
      else if (first < 0) first = node[i];
      else parent[Root(parent, node[i])] = Root(parent, first);
    }
  }
  for (PetscCount i = 0; i < sides->n * p->size; i++)
    if (sides->mean[i / p->size] > 0 && sides->index[i] >= 0) label[sides->index[i]] = -1;
}

/* label becomes the least one of all nodes of the body, on all ranks */
static PetscErrorCode SpreadLabels(MPI_Comm comm, const PlexCells *p, PetscInt *parent, PetscInt *label)
{
  const PetscInt n = p->nodes->n + p->nghost;
  PetscBool      changed;
  PetscSF        sf;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, p->nodes, p->nghost, NULL, PETSC_COPY_VALUES, p->ghost));
  do {
    changed = PETSC_FALSE;
    for (PetscInt i = 0; i < n; i++) label[Root(parent, i)] = PetscMin(label[Root(parent, i)], label[i]);
    for (PetscInt i = 0; i < n; i++) label[i] = label[Root(parent, i)];
    PetscCall(PetscSFReduceBegin(sf, MPIU_INT, label + p->nodes->n, label, MPI_MIN));
    PetscCall(PetscSFReduceEnd(sf, MPIU_INT, label + p->nodes->n, label, MPI_MIN));
    PetscCall(PetscSFBcastBegin(sf, MPIU_INT, label, label + p->nodes->n, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_INT, label, label + p->nodes->n, MPI_REPLACE));
    for (PetscInt i = 0; i < n; i++) changed = (PetscBool)(changed || label[i] != label[Root(parent, i)]);
    PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, &changed, 1, PATCHFD_MPI_BOOL, MPI_LOR, comm));
  } while (changed);
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsFindBodies(MPI_Comm comm, const PlexCells *p, const PlexSides *sides, PetscInt *nbody, PetscInt **body)
{
  const PetscInt n = p->nodes->n + p->nghost, start = p->nodes->rstart;
  PetscInt      *parent, *label, mine = 0, first = 0, *number, nleaf = 0;
  PetscSF        sf;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &parent, n, &label, p->nodes->n, &number));
  for (PetscInt i = 0; i < n; i++) {
    parent[i] = i;
    label[i]  = i < p->nodes->n ? start + i : p->ghost[i - p->nodes->n];
  }
  JoinCells(p, sides, parent, label);
  PetscCall(SpreadLabels(comm, p, parent, label));
  /* a body is numbered where the node is whose number is its label */
  for (PetscInt i = 0; i < p->nodes->n; i++) mine += label[i] == start + i;
  PetscCallMPI(MPI_Exscan(&mine, &first, 1, MPIU_INT, MPI_SUM, comm));
  PetscCallMPI(MPIU_Allreduce(&mine, nbody, 1, MPIU_INT, MPI_SUM, comm));
  PetscCall(PetscMalloc1(n, body));
  for (PetscInt i = 0; i < n; i++) {
    if (i < p->nodes->n) number[i] = label[i] == start + i ? first++ : -1;
    (*body)[i] = -1;
    if (label[i] < 0) continue;
    parent[nleaf]  = i;
    label[nleaf++] = label[i];
  }
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraphLayout(sf, p->nodes, nleaf, parent, PETSC_COPY_VALUES, label));
  PetscCall(PetscSFBcastBegin(sf, MPIU_INT, number, *body, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(sf, MPIU_INT, number, *body, MPI_REPLACE));
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(PetscFree3(parent, label, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PlexCellsGetFixed(DM dm, const PlexCells *cells, const PetscInt body[], const PatchFDMotions *motions, PetscReal product[])
{
  PlexPoints p;

  PetscFunctionBegin;
  PetscCall(PlexPointsCreate(&(PlexCoefficients){.dm = dm, .n = 1}, cells, 0, -1, &p));
  for (PetscCount i = 0; i < cells->ncells; i++) {
    const PetscInt *node = cells->index + i * cells->size;
    PetscInt        of = -1, n = 0;
    PetscReal       x[3] = {0};

    for (PetscInt q = 0; q < cells->size; q++) { /* the free ones are of one body */
      n += CountFixed(cells, node[q]);
      if (node[q] >= 0) of = PetscMax(of, body[node[q]]);
    }
    if (!n || of < 0) continue;
    PetscCall(PlexPointsGoTo(cells, i, &p));
    for (PetscInt q = 0; q < cells->size; q++) {
      if (CountFixed(cells, node[q])) PlexPointsPlace(&p, q, x, NULL);
      for (PetscInt k = 0; k < cells->ncomp; k++)
        if (IsFixed(cells, node[q], k)) PatchFDMotionsAddProducts(motions, k, 1, x, product + of * PetscSqr(motions->n));
    }
  }
  PetscCall(PlexPointsDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
