/*
  Local solves of saddle points, for a batch of patches: velocities by fast diagonalization, the pressure by conjugate gradients on its
  Schur complement (Cui, Kanschat, Multigrid methods for the Stokes problem on GPU systems, section 4).  With the patch's matrix (A B'; B
  0),

    S p = B A^{-1} r_u - r_p,   S = B A^{-1} B',   u = A^{-1} (r_u - B' p),

  preconditioned by the inverse of the mass matrix, to which S is equivalent.  Where nothing flows out of a patch constants are the null
  space of S: their part is taken from r_p and from p.  The last field is the pressure.  Each patch of a batch stops when it has converged,
  whatever the others do.
*/
#pragma once
#include "diagonalization.h"

/* The rows of the pressure and the columns of a component, in one direction: np x n matrices of all classes, and their transposes */
typedef struct {
  const PatchFDRows *rows;
  size_t             size; /* room for a matrix */
  REAL              *X, *Xt;
  V                 *lanes[2];
  Coef               x, xt; /* of the batch at hand */
} SchurMatrix;

typedef struct {
  const PatchFDLocalDesc *desc;
  int                     dim;     /* components of the velocity */
  SchurMatrix             B[3][3]; /* [component][direction] */
  SeparablePlan         **fd;
  V                      *r, *z, *d, *q, *p; /* pressures */
  V                      *w, *t[2];          /* a component, work */
  void                   *base;
} SchurPlan;

static PetscErrorCode SchurMatrixCreate(const PatchFDRows *rows, PetscReal coef, const PatchFDPatches *row, const PatchFDPatches *col,
                                        SchurMatrix *m)
{
  PetscInt n[2] = {0, 0};

  PetscFunctionBegin;
  for (PetscInt i = 0; i < row->npatch; i++) {
    n[0] = PetscMax(n[0], row->n[i]);
    n[1] = PetscMax(n[1], col->n[i]);
  }
  m->rows = rows;
  m->size = (size_t)(n[0] * n[1]);
  PetscCall(PetscMalloc2((size_t)rows->nclass * m->size, &m->X, (size_t)rows->nclass * m->size, &m->Xt));
  for (PetscInt i = 0; i < rows->npatch; i++) {
    const PetscInt   np = row->n[i], nu = col->n[i];
    const PetscReal *from = rows->X + rows->at[rows->cls[i]] + rows->ext;
    REAL            *X = m->X + rows->cls[i] * m->size, *Xt = m->Xt + rows->cls[i] * m->size;

    if (i > 0 && rows->cls[i] == rows->cls[i - 1]) continue;
    for (PetscInt a = 0; a < np; a++)
      for (PetscInt b = 0; b < nu; b++) Xt[b * np + a] = X[a * nu + b] = (REAL)(coef * from[a * (nu + 2 * rows->ext) + b]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SchurDestroy(SchurPlan **plan)
{
  PetscFunctionBegin;
  if (!*plan) PetscFunctionReturn(PETSC_SUCCESS);
  for (int c = 0; c < 3; c++)
    for (int d = 0; d < 3; d++) PetscCall(PetscFree2((*plan)->B[c][d].X, (*plan)->B[c][d].Xt));
  PetscCall(PetscFree((*plan)->base));
  PetscCall(PetscFree(*plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* `size` numbers are enough for any field of a patch, and for what is between two of them */
static PetscErrorCode SchurCreate(const PatchFDLocalDesc *desc, SeparablePlan **fd, size_t size, SchurPlan **plan)
{
  SchurPlan *p;
  size_t     lanes = 0;
  V         *v     = NULL;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *plan   = p;
  p->desc = desc;
  p->dim  = (int)desc->nfield - 1;
  p->fd   = fd;
  for (PetscInt t = 0; t < desc->nterm; t++) {
    const PatchFDRowTerm *term = &desc->term[t];

    if (term->row != p->dim || term->col == p->dim) continue;
    for (int d = 0; d < 3; d++) {
      PetscCall(SchurMatrixCreate(term->dir[d], d ? 1 : term->coef, desc->field[term->row].dir[d], desc->field[term->col].dir[d],
                                  &p->B[term->col][d]));
      lanes += 2 * p->B[term->col][d].size;
    }
  }
  PetscCall(VMalloc(8 * size + lanes, &v, &p->base));
  {
    V **const blocks[] = {&p->r, &p->z, &p->d, &p->q, &p->p, &p->w, &p->t[0], &p->t[1]};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(blocks); i++, v += size) *blocks[i] = v;
  }
  for (int c = 0; c < p->dim; c++)
    for (int d = 0; d < 3; d++)
      for (int i = 0; i < 2; i++, v += p->B[c][d].size) p->B[c][d].lanes[i] = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void SchurSelect(SchurPlan *p, int count, const PetscInt patch[3][VL])
{
  for (int c = 0; c < p->dim; c++) {
    for (int d = 0; d < 3; d++) {
      SchurMatrix *m = &p->B[c][d];
      PetscInt     cls[VL];

      for (int l = 0; l < count; l++) cls[l] = m->rows->cls[patch[d][l]];
      m->x  = CoefSelect(count, cls, m->size, m->X, m->lanes[0]);
      m->xt = CoefSelect(count, cls, m->size, m->Xt, m->lanes[1]);
    }
  }
}

/* p += B_c u, for n pressures and m velocities */
static void SchurDivergence(SchurPlan *s, int c, const PetscInt n[3], const PetscInt m[3], const V *u, V *p)
{
  const PetscInt a[3] = {n[0], m[1], m[2]}, b[3] = {n[0], n[1], m[2]};

  Contract(0, m, n[0], s->B[c][0].x, u, s->t[0], PETSC_FALSE);
  Contract(1, a, n[1], s->B[c][1].x, s->t[0], s->t[1], PETSC_FALSE);
  Contract(2, b, n[2], s->B[c][2].x, s->t[1], p, PETSC_TRUE);
}

/* w = A_c^{-1} B_c' p */
static void SchurVelocity(SchurPlan *s, int c, int count, const PetscInt patch[3][VL], const PetscInt n[3], const PetscInt m[3], const V *p)
{
  const PetscInt a[3] = {m[0], n[1], n[2]}, b[3] = {m[0], m[1], n[2]};

  Contract(0, n, m[0], s->B[c][0].xt, p, s->t[0], PETSC_FALSE);
  Contract(1, a, m[1], s->B[c][1].xt, s->t[0], s->t[1], PETSC_FALSE);
  Contract(2, b, m[2], s->B[c][2].xt, s->t[1], s->w, PETSC_FALSE);
  SeparableSolve(s->fd[c], count, patch, s->w);
}

static V SchurDot(PetscInt n, const V *a, const V *b)
{
  V sum = {0};

  for (PetscInt i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* without its mean */
static void SchurProject(PetscInt n, V *p)
{
  V mean = {0};

  for (PetscInt i = 0; i < n; i++) mean += p[i];
  mean *= Splat((REAL)1 / (REAL)n);
  for (PetscInt i = 0; i < n; i++) p[i] -= mean;
}

/* does nothing flow out of these patches: are the components zero at both ends in their own directions? */
static PetscBool SchurClosed(const SchurPlan *s, PetscInt nfield, PetscInt n[][3])
{
  PetscBool closed = PETSC_TRUE;

  for (int c = 0; c < s->dim; c++) closed = (PetscBool)(closed && n[c][c] < n[nfield - 1][c]);
  return closed;
}

/* a / b in the lanes that are not done, zero in the others */
static V SchurRatio(V a, V b, const PetscBool done[VL])
{
  V ratio = {0};

  for (int l = 0; l < VL; l++) ratio[l] = done[l] || b[l] == 0 ? 0 : a[l] / b[l];
  return ratio;
}

/* S p = r for the residual in s->r, which is a difference of vectors whose squares are `scale`: the pressure in s->p */
static void SchurIterate(SchurPlan *s, int count, const PetscInt patch[3][VL], PetscInt n[][3], PetscInt np, V scale)
{
  const REAL rounding = 100 * (REAL_BYTES == 8 ? (REAL)2.2e-16 : (REAL)1.2e-7);
  const V    rr       = SchurDot(np, s->r, s->r);
  PetscBool  done[VL];
  V          rz, first, last;

  for (PetscInt i = 0; i < np; i++) s->p[i] = (V){0};
  memcpy(s->d, s->r, (size_t)np * sizeof(V));
  SeparableSolve(s->fd[s->dim], count, patch, s->d);
  first = rz = SchurDot(np, s->r, s->d);
  /* a constant and rounding errors are solved by zero */
  for (int l = 0; l < VL; l++) done[l] = (PetscBool)(l >= count || !(first[l] > 0) || rr[l] <= rounding * rounding * scale[l]);
  for (PetscInt it = 0; it < s->desc->maxit; it++) {
    int active = 0;
    V   alpha, beta;

    for (int l = 0; l < VL; l++) active |= !done[l];
    if (!active) break;
    for (PetscInt i = 0; i < np; i++) s->q[i] = (V){0};
    for (int c = 0; c < s->dim; c++) {
      SchurVelocity(s, c, count, patch, n[s->dim], n[c], s->d);
      SchurDivergence(s, c, n[s->dim], n[c], s->w, s->q);
    }
    alpha = SchurRatio(rz, SchurDot(np, s->d, s->q), done);
    for (PetscInt i = 0; i < np; i++) {
      s->p[i] += alpha * s->d[i];
      s->r[i] -= alpha * s->q[i];
    }
    memcpy(s->z, s->r, (size_t)np * sizeof(V));
    SeparableSolve(s->fd[s->dim], count, patch, s->z);
    last = rz;
    rz   = SchurDot(np, s->r, s->z);
    beta = SchurRatio(rz, last, done);
    for (PetscInt i = 0; i < np; i++) s->d[i] = s->z[i] + beta * s->d[i];
    for (int l = 0; l < VL; l++) done[l] = (PetscBool)(done[l] || !(rz[l] > s->desc->rtol * s->desc->rtol * first[l]));
  }
}

/* u = solution for the residual u in all lanes, the fields one after another from u + at[field] on, with n[field] nodes */
static void SchurSolve(SchurPlan *s, int count, const PetscInt patch[3][VL], PetscInt n[][3], const size_t at[], V *u)
{
  const PetscInt  np     = n[s->dim][0] * n[s->dim][1] * n[s->dim][2];
  const PetscBool closed = SchurClosed(s, s->dim + 1, n);
  V              *up     = u + at[s->dim], scale;

  SchurSelect(s, count, patch);
  for (PetscInt i = 0; i < np; i++) s->r[i] = (V){0};
  for (int c = 0; c < s->dim; c++) {
    SeparableSolve(s->fd[c], count, patch, u + at[c]);
    SchurDivergence(s, c, n[s->dim], n[c], u + at[c], s->r);
  }
  scale = SchurDot(np, s->r, s->r) + SchurDot(np, up, up);
  for (PetscInt i = 0; i < np; i++) s->r[i] -= up[i];
  for (int i = 0; i < 2 && closed; i++) SchurProject(np, s->r); /* twice: a large mean leaves rounding errors that have one */
  SchurIterate(s, count, patch, n, np, scale);
  if (closed) SchurProject(np, s->p);
  for (int c = 0; c < s->dim; c++) {
    SchurVelocity(s, c, count, patch, n[s->dim], n[c], s->p);
    for (PetscInt i = 0; i < n[c][0] * n[c][1] * n[c][2]; i++) u[at[c] + (size_t)i] -= s->w[i];
  }
  memcpy(up, s->p, (size_t)np * sizeof(V));
}
