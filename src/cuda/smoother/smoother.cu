/* Vertex patches: which kernels are launched on which patches.  See smoother.cuh for what is where */
#include "smoother/few.cuh"

namespace patchfd
{

/* what is known of the patches */
template <typename T>
struct SmootherPlan : Plan {
  AnyPatches<T>         any;
  Owned<SmootherFast>   fast;
  Owned<PlaceSmoother>  place; /* or NULL */
  Owned<PlaceSmoother>  strip; /* in its place where it can, or NULL */
  Stencil<T>            stencil;
  Range                 read;                     /* for those in the middle */
  bool                  uniform;                  /* the stencil exists */
  bool                  regular;                  /* all patches' matrices are */
  int                   ones[3][2];               /* patches of one unknown in each direction, first and end */
  std::vector<PetscInt> first[3];                 /* node of each patch */
  cudaStream_t          side = NULL;              /* for patches that may be solved beside others */
  cudaEvent_t           fork = NULL, join = NULL; /* of PETSc's stream, of `side` */

  ~SmootherPlan()
  {
    if (join) (void)cudaEventDestroy(join);
    if (fork) (void)cudaEventDestroy(fork);
    if (side) (void)cudaStreamDestroy(side);
  }
};

/* ---- the longest runs of equal, mirror-symmetric patches of 2 K - 1 unknowns ---- */

/* two cells of the same degree around a vertex: unknowns in one are not coupled to those in the other */
static bool TwoCells(const PatchFDEigen *e)
{
  const PetscInt n = e->n, K = (n + 1) / 2;

  if (n % 2 == 0) return false;
  for (PetscInt i = 0; i < K - 1; i++)
    for (PetscInt j = K + 1; j < n + 2; j++)
      if (e->MI[i * (n + 2) + j] != 0 || e->MI[(n - 1 - i) * (n + 2) + n + 1 - j] != 0) return false;
  return true;
}

/* all patches of a direction, of a ring those whose closures do not go around its end */
static void InBox(const PatchFDLocalField *f, int d, int run[2])
{
  const PatchFDPatches *pd = f->dir[d];
  const PetscInt        lo = f->box.lo[d], hi = lo + f->box.n[d];

  run[0] = 0;
  run[1] = (int)pd->npatch;
  if (f->read[d][1] <= hi) return;
  while (run[0] < run[1] && pd->first[run[0]] - 1 < lo) run[0]++;
  while (run[0] < run[1] && pd->first[run[1] - 1] + pd->n[run[1] - 1] >= hi) run[1]--;
}

/* the longest run of such patches beside each other, all of one size; `equal`: all of one class, with mirror symmetry */
static void LongestRun(const PatchFDLocalField *f, int d, bool equal, int run[2])
{
  const PatchFDPatches *pd    = f->dir[d];
  const auto            suits = [&](PetscInt i) { return TwoCells(&pd->eigen[pd->cls[i]]) && (pd->eigen[pd->cls[i]].parity || !equal); };
  int                   all[2];

  InBox(f, d, all);
  run[0] = run[1] = 0;
  for (PetscInt i = all[0], end; i < all[1]; i = end) {
    for (end = i + 1; end < all[1] && pd->n[end] == pd->n[i] && pd->first[end] - pd->first[end - 1] == (pd->n[i] + 1) / 2 &&
                      (equal ? pd->cls[end] == pd->cls[i] : suits(end));)
      end++;
    if (!suits(i) || end - i <= run[1] - run[0]) continue;
    run[0] = (int)i;
    run[1] = (int)end;
  }
}

/* kernels for the runs of the three directions, if their patches have the same size; *fast stays NULL where the mesh has no such patches or
   their degree no kernel */
template <typename T>
static PetscErrorCode CreateFast(const PatchFDLocalDesc *desc, bool equal, SmootherFast **fast)
{
  const PatchFDPatches *const *pd    = desc->field->dir;
  const bool                   point = IsPoint(desc, 2);
  int                          run[3][2], K = 0;
  const PatchFDEigen          *e[3];

  PetscFunctionBegin;
  *fast = NULL;
  for (int d = 0; d < 3; d++) {
    LongestRun(desc->field, d, equal, run[d]);
    if (run[d][0] == run[d][1]) PetscFunctionReturn(PETSC_SUCCESS);
    e[d] = &pd[d]->eigen[pd[d]->cls[run[d][0]]];
    if (d && (e[d]->n + 1) / 2 != K && !(d == 2 && point)) PetscFunctionReturn(PETSC_SUCCESS);
    if (d < 2) K = (int)(e[d]->n + 1) / 2;
  }
  if (!point && !GridFits((pd[1]->npatch + 1) / 2, (pd[2]->npatch + 1) / 2)) PetscFunctionReturn(PETSC_SUCCESS);
  if (equal) PetscCall(point ? SmootherPlaneCreate<T>(K, e, fast) : SmootherVolumeCreate<T>(K, e, fast));
  else if (!point) PetscCall(SmootherPlaceRowCreate<T>(K, pd, run, fast));
  for (int d = 0; d < 3 && *fast; d++) {
    (*fast)->run[d][0] = run[d][0];
    (*fast)->run[d][1] = run[d][1];
    (*fast)->step[d]   = (int)e[d]->n + 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* are most patches of each direction equal? */
static bool MostlyEqual(const PatchFDLocalDesc *desc)
{
  bool most = true;

  for (int d = 0; d < 3; d++) {
    int equal[2], any[2];

    LongestRun(desc->field, d, true, equal);
    LongestRun(desc->field, d, false, any);
    most = most && 2 * (equal[1] - equal[0]) >= any[1] - any[0];
  }
  return most;
}

/* has a patch an eigenvalue zero?  If the patches of all directions have one, so may a product of them */
static bool HasConstants(const PatchFDPatches *pd)
{
  for (PetscInt c = 0; c < pd->nclass; c++)
    for (PetscInt i = 0; i < pd->eigen[c].n; i++)
      if (pd->eigen[c].lambda[i] == 0) return true;
  return false;
}

/* those for which there is no SmootherFast, if they are not too large */
template <typename T>
static PetscErrorCode CreatePlace(const PatchFDLocalDesc *desc, PlaceSmoother **place)
{
  PetscFunctionBegin;
  if (IsPoint(desc, 1)) {
    LineSmoother<T> *line = new LineSmoother<T>;

    *place = line;
    PetscCall(line->create(desc));
  } else if (FewSmoother<T>::suits(desc)) {
    FewSmoother<T> *few = new FewSmoother<T>;

    *place = few;
    PetscCall(few->create(desc));
  } else PetscCall((IsPoint(desc, 2) ? SmootherPlaceCreate<T, true> : SmootherPlaceCreate<T, false>)(desc, place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Smoother<T>::create(const PatchFDLocalDesc *desc, void **plan)
{
  SmootherPlan<T> *p;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(Stream(&stream));
  p          = new SmootherPlan<T>();
  *plan      = p;
  p->regular = false;
  for (int d = 0; d < 3; d++) {
    const PatchFDPatches *pd = desc->field->dir[d];
    int                   all[2];

    for (PetscInt i = 0; i < pd->npatch; i++)
      PetscCheck(pd->cell[i] == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Patch %" PetscInt_FMT " begins at cell %" PetscInt_FMT, i,
                 pd->cell[i]);
    InBox(desc->field, d, all);
    p->ones[d][0] = all[0]; /* all of them but those at free ends */
    while (p->ones[d][0] < all[1] && pd->n[p->ones[d][0]] > 1) p->ones[d][0]++;
    p->ones[d][1] = p->ones[d][0];
    while (p->ones[d][1] < all[1] && pd->n[p->ones[d][1]] == 1) p->ones[d][1]++;
    p->first[d].assign(pd->first, pd->first + pd->npatch);
    p->regular = p->regular || !HasConstants(pd);
  }
  p->read = ReadInBox(desc->field);
  PetscCall(p->any.create(desc));
  PetscCall(CreateFast<T>(desc, MostlyEqual(desc), &p->fast));
  PetscCall(CreatePlace<T>(desc, &p->place));
  if (IsPoint(desc, 2) && !IsPoint(desc, 1) && !p->any.data.l.rings.any()) PetscCall(SmootherStripCreate<T>(desc, &p->strip));
  PetscCall(p->stencil.create(desc, p->ones, &p->uniform));
  PetscCallCUDA(cudaStreamCreateWithFlags(&p->side, cudaStreamNonBlocking));
  PetscCallCUDA(cudaEventCreateWithFlags(&p->fork, cudaEventDisableTiming));
  PetscCallCUDA(cudaEventCreateWithFlags(&p->join, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* has the run of each direction all patches? */
static bool IsWhole(const int run[3][2], const std::vector<PetscInt> first[3])
{
  bool whole = true;

  for (int d = 0; d < 3; d++) whole = whole && run[d][0] == 0 && run[d][1] == (int)first[d].size();
  return whole;
}

template <typename T>
const char *Smoother<T>::name(void *plan)
{
  const SmootherPlan<T> *p = (SmootherPlan<T> *)plan;

  if (p->uniform && IsWhole(p->ones, p->first)) return p->stencil.byplace ? "stencil by place: patches are not equal" : "stencil";
  if (p->uniform)
    return p->stencil.byplace ? "stencil by place: patches are not equal; others, at free ends, by place"
                              : "stencil; others, at free ends, by place";
  if (p->fast && !p->fast->single)
    return IsWhole(p->fast->run, p->first) ? "patches by place, two colours at once"
                                           : "patches by place, two colours at once; others, at free ends, one";
  if (p->fast && IsWhole(p->fast->run, p->first)) return "equal patches";
  if (p->strip)
    return p->fast ? "equal patches; others, at free ends, in strips"
                   : "patches in strips: in 2D, not equal, or of a degree that has no kernel for equal ones";
  if (p->fast)
    return p->place ? "equal patches; others, at free ends, by place"
                    : "equal patches; others, at free ends, by the kernel for any: they are too large";
  if (p->place) return "patches by place: in 1D, not equal, or of a degree that has no kernel of its own";
  return "any patches: larger than other kernels take, or on a GPU without the instructions of others";
}

/* ---- steps: what is launched for the next colours ---- */

/* what all steps of a call have in common */
struct Call {
  PatchFDPatchOp op;
  PetscReal      omega;
  void          *x;
  const void    *b;
  void          *r;
};

struct Step {
  enum Kind {
    STENCIL, /* `colors` colours, from `color` on, of `patches` */
    FAST,    /* the equal patches g of a colour */
    PAIR,    /* those of two colours, g and then `next` */
    ONES,    /* `shell`, patches of one unknown */
    ANY      /* `shell`, any patches */
  } kind;
  bool                zero;   /* x is known to be zero before */
  bool                beside; /* after those beside it that were added before, but not after the others */
  FastGeometry        g, next;
  PatchShell          shell;
  PetscInt            colors;
  const PatchFDColor *color;
};

/* in this order, those beside others first */
struct Steps {
  PetscInt colors = 0; /* that are done with them */
  int      n      = 0;
  Step     step[9];

  Step &add(Step::Kind kind, bool zero)
  {
    step[n].kind   = kind;
    step[n].zero   = zero;
    step[n].beside = false;
    return step[n++];
  }
  void add(Step::Kind kind, bool zero, const PatchShell &shell, bool beside = false)
  {
    if (!shell.size()) return;
    Step &s = add(kind, zero);

    s.shell  = shell;
    s.beside = beside;
  }
};

/* a colour's patches: equal ones, ones of one unknown, and the others */
struct ColorParts {
  bool         fast;
  FastGeometry g;
  PatchShell   ones, any;
};

/* the equal patches `inner` of a colour for the fast kernel; false if not all unknowns may be read */
template <typename T>
static bool FindFast(const SmootherPlan<T> *p, const int start[3], const Range &inner, FastGeometry *g)
{
  const int(*run)[2] = p->fast->run;
  bool whole         = true;

  g->l    = p->any.data.l;
  g->read = p->read;
  for (int d = 0; d < 3; d++) {
    g->count[d] = inner.hi[d] - inner.lo[d];
    g->start[d] = start[d] + 2 * inner.lo[d];
    g->first[d] = (int)p->first[d][g->start[d]] - 1;
    whole       = whole && g->first[d] + 1 >= g->read.lo[d] && g->first[d] + p->fast->step[d] * g->count[d] <= g->read.hi[d];
  }
  return whole;
}

/* fast: those of a SmootherFast, else those of one unknown, apart */
template <typename T>
static ColorParts FindPatches(const SmootherPlan<T> *p, bool fast, const PetscInt color[3], const PatchFDRange patches)
{
  const int(*run)[2] = fast ? p->fast->run : p->ones; /* the patches that are not left to the generic kernel */
  ColorParts c;
  Range      all, inner;
  int        start[3];

  for (int d = 0; d < 3; d++) {
    start[d]        = (int)(patches[d][0] + (patches[d][0] + color[d]) % 2);
    all.lo[d]       = 0;
    all.hi[d]       = PetscMax(0, (int)(patches[d][1] - start[d] + 1) / 2);
    inner.lo[d]     = PetscMin(all.hi[d], PetscMax(0, run[d][0] - start[d] + 1) / 2);
    inner.hi[d]     = PetscMin(all.hi[d], PetscMax(0, run[d][1] - start[d] + 1) / 2);
    c.ones.start[d] = c.any.start[d] = start[d];
  }
  c.fast = fast && !inner.empty() && FindFast(p, start, inner, &c.g);
  if (inner.empty() || (fast && !c.fast)) inner = Range::none();
  static_cast<Shell &>(c.ones) = Shell(fast ? Range::none() : inner);
  static_cast<Shell &>(c.any)  = Shell(all, inner);
  return c;
}

/* can both colours go in one pass?  They have to differ in x only */
template <typename T>
static bool IsPair(const SmootherPlan<T> *p, const Call &call, const PetscInt a[3], const PetscInt b[3])
{
  return p->fast && p->fast->pairs && call.op == PATCHFD_OP_BOUNDARY && call.omega == 1 && a[0] != b[0] && a[1] == b[1] && a[2] == b[2];
}

/* the boxes from .. to - 1 of a shell */
static PatchShell Parts(const PatchShell &shell, int from, int to)
{
  PatchShell s     = shell;
  size_t     total = 0;

  for (int i = 0; i < 6; i++) {
    if (i < from || i >= to) s.part[i] = Range::none();
    s.end[i] = total += s.part[i].size();
  }
  return s;
}

/*
  One kernel for the patches in the middle of n colours that follow each other in x, four also in y; the others of each are `shell`.  Those
  below and above the middle in directions in which the colours do not differ are not coupled to it meanwhile: they are solved beside it.
  In the last direction in which they do, the others of the first half of the colours come before, those of the second half after; with four
  colours there are none in x.
*/
static Step &AddMiddle(Steps &s, Step::Kind kind, bool zero, int n, const PatchShell shell[])
{
  const int beside = n == 4 ? 2 : 4, half = (n + 1) / 2; /* beside: parts of a shell */

  for (int i = 0; i < n; i++) s.add(Step::ANY, zero && i == 0, Parts(shell[i], 0, beside), true);
  for (int i = 0; i < half; i++) s.add(Step::ANY, zero && i == 0, Parts(shell[i], beside, 6));
  const int middle = s.n;

  s.add(kind, zero);
  for (int i = half; i < n; i++) s.add(Step::ANY, false, Parts(shell[i], beside, 6));
  return s.step[middle];
}

/* The next of these colours, as many as can be taken at once; zero: x is known to be zero before */
template <typename T>
static Steps NextSteps(const SmootherPlan<T> *p, const Call &call, PetscInt ncolors, const PatchFDColor colors[],
                       const PatchFDRange patches, bool zero)
{
  const bool fast = p->fast && (call.op == PATCHFD_OP_BOUNDARY || call.op == PATCHFD_OP_SOLVE);
  Steps      s;
  ColorParts c, next;
  PatchShell shell[4];

  if (p->uniform && (call.op == PATCHFD_OP_BOUNDARY || call.op == PATCHFD_OP_FUSED)) s.colors = p->stencil.colors(ncolors, colors, patches);
  if (s.colors) {
    if (patches[0][0] < p->ones[0][0] || patches[0][1] > p->ones[0][1]) s.colors = PetscMin(s.colors, 2); /* others, in x */
    for (PetscInt i = 0; i < s.colors; i++) shell[i] = FindPatches(p, fast, colors[i].parity, patches).any;
    Step &step = AddMiddle(s, Step::STENCIL, zero, (int)s.colors, shell);

    step.colors = s.colors;
    step.color  = colors;
    return s;
  }
  c = FindPatches(p, fast, colors[0].parity, patches);
  if (c.fast && ncolors > 1 && IsPair(p, call, colors[0].parity, colors[1].parity)) next = FindPatches(p, fast, colors[1].parity, patches);
  else next.fast = false;
  if (c.fast && !next.fast && !p->fast->single) c = FindPatches(p, false, colors[0].parity, patches);
  if (next.fast) {
    s.colors   = 2;
    shell[0]   = c.any;
    shell[1]   = next.any;
    Step &pair = AddMiddle(s, Step::PAIR, zero, 2, shell);
    pair.g     = c.g;
    pair.next  = next.g;
  } else {
    s.colors = 1;
    s.add(Step::ANY, zero, c.any, c.fast);
    if (c.fast) s.add(Step::FAST, zero).g = c.g;
    s.add(Step::ONES, zero, c.ones);
  }
  return s;
}

static PetscLogDouble Count(const FastGeometry &g)
{
  return (PetscLogDouble)g.count[0] * g.count[1] * g.count[2];
}

template <typename T>
static PetscErrorCode Run(SmootherPlan<T> *p, const Call &call, const Step &step, const PatchFDRange patches, cudaStream_t stream)
{
  const bool solve = call.op == PATCHFD_OP_SOLVE, boundary = call.op == PATCHFD_OP_BOUNDARY && !step.zero;

  PetscFunctionBegin;
  switch (step.kind) {
  case Step::STENCIL:
    PetscCall(p->stencil.apply(step.colors, step.color->parity, patches, call.omega, call.x, call.b, stream));
    break;
  case Step::FAST:
    PetscCall(p->fast->apply(step.g, call.omega, solve ? 1 : 1 - call.omega, boundary, call.x, solve ? call.r : call.b, stream));
    PetscCall(PetscLogGpuFlops(Count(step.g) * p->fast->flops(boundary, false)));
    break;
  case Step::PAIR:
    PetscCall(p->fast->pair(step.g, step.next, boundary, call.x, call.b, stream));
    PetscCall(PetscLogGpuFlops((Count(step.g) + Count(step.next)) * p->fast->flops(boundary, true)));
    break;
  case Step::ONES:
    PetscCall(p->any.ones(step.shell, call.op, call.omega, step.zero, call.x, call.b, call.r, stream));
    break;
  case Step::ANY:
    if (p->strip && (solve || call.op == PATCHFD_OP_BOUNDARY))
      PetscCall(p->strip->apply(step.shell, call.omega, solve ? 1 : 1 - call.omega, boundary, call.x, solve ? call.r : call.b, stream));
    else if (p->place && (solve || call.op == PATCHFD_OP_BOUNDARY))
      PetscCall(p->place->apply(step.shell, call.omega, solve ? 1 : 1 - call.omega, boundary, call.x, solve ? call.r : call.b, stream));
    else if (p->place && call.op == PATCHFD_OP_RESIDUAL && !step.zero && p->place->residuals())
      PetscCall(p->place->residual(step.shell, call.x, call.b, call.r, stream));
    else {
      PetscCall(p->any.apply(step.shell, call.op, call.omega, step.zero, call.x, call.b, call.r, stream));
      break;
    }
    PetscCall(PetscLogGpuFlops((PetscLogDouble)step.shell.size() * p->any.flops(p->any.n, call.op, step.zero)));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
static PetscErrorCode RunSteps(SmootherPlan<T> *p, const Call &call, const Steps &steps, const PatchFDRange patches, cudaStream_t stream)
{
  /* kernels without memory in common */
  const bool forks = (p->place || p->strip) && call.op != PATCHFD_OP_FUSED && steps.n > 1 && steps.step[0].beside &&
                     !steps.step[steps.n - 1].beside;

  PetscFunctionBegin;
  if (forks) {
    PetscCallCUDA(cudaEventRecord(p->fork, stream));
    PetscCallCUDA(cudaStreamWaitEvent(p->side, p->fork, 0));
  }
  for (int s = 0; s < steps.n; s++) PetscCall(Run(p, call, steps.step[s], patches, forks && steps.step[s].beside ? p->side : stream));
  if (forks) {
    PetscCallCUDA(cudaEventRecord(p->join, p->side));
    PetscCallCUDA(cudaStreamWaitEvent(stream, p->join, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename T>
PetscErrorCode Smoother<T>::apply(void *plan, PatchFDPatchOp op, PetscInt ncolors, const PatchFDColor colors[], const PatchFDRange patches,
                                  PetscReal omega, PetscBool zero, void *x, const void *b, void *r)
{
  SmootherPlan<T> *p = (SmootherPlan<T> *)plan;
  /* A_II^{-1} (b - A x) and A_II^{-1} (b_I - A_IB x_B) differ by x_I, unless A_II is singular */
  const Call call = {op == PATCHFD_OP_FUSED && p->regular ? PATCHFD_OP_BOUNDARY : op, omega, x, b, r};

  PetscFunctionBegin;
  PetscCall(Launch([&](cudaStream_t stream) {
    PetscFunctionBegin;
    for (PetscInt i = 0; i < ncolors;) {
      const Steps steps = NextSteps(p, call, ncolors - i, colors + i, patches, zero && i == 0);

      PetscCall(RunSteps(p, call, steps, patches, stream));
      i += steps.colors;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template struct Smoother<double>;
template struct Smoother<float>;

} // namespace patchfd
