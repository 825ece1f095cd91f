#pragma once
/* The cells of a DMPLEX of quadrilaterals or hexahedra with nodes and geometry as operators by quadrature want them */
#include <petscdmplex.h>

/* Nodes are those that a rank owns, in the order of global vectors, and then ghosts, whose numbers increase.  Those with Dirichlet conditions are not in vectors */
typedef struct {
  PetscInt    dim, degree, ncomp;
  PetscCount  ncells;     /* without the overlap */
  PetscInt    size;       /* nodes of a cell, x fastest */
  PetscInt    nghost;
  PetscLayout nodes;
  PetscInt   *index;      /* [ncells][size], -1 for nodes with Dirichlet conditions */
  PetscInt   *ghost;      /* [nghost] global numbers */
  PetscBool   fixed;      /* are there such nodes on any rank? */
  PetscInt    geodegree;
  PetscInt   *geoindex;   /* [ncells][(geodegree + 1)^dim] */
  PetscReal  *coordinate; /* [...][dim] */
} PlexCells;

/* Collective */
PETSC_INTERN PetscErrorCode PlexCellsCreate(DM, PlexCells *);
PETSC_INTERN PetscErrorCode PlexCellsDestroy(PlexCells *);
