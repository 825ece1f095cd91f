/* what plans have in common: device memory that is freed with them */
#pragma once
#include "cuda.cuh"

namespace patchfd
{

struct PlanMemory {
  std::vector<void *> arrays;

  /* n numbers from the host, converted */
  template <typename To, typename From>
  PetscErrorCode upload(size_t n, const From *from, To **to)
  {
    PetscFunctionBegin;
    PetscCall(Upload(n, from, to));
    arrays.push_back(*to);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* n zeros */
  template <typename T>
  PetscErrorCode malloc(size_t n, T **a)
  {
    PetscFunctionBegin;
    PetscCall(Grid<T>::malloc(n, (void **)a));
    arrays.push_back(*a);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode free()
  {
    PetscFunctionBegin;
    for (void *a : arrays) PetscCallCUDA(cudaFree(a));
    arrays.clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* memory that other plans have given back (cuda.cuh), for what is made again and again, and used on PETSc's stream alone */
struct PoolMemory {
  std::vector<void *> arrays;

  /* n numbers that may be anything */
  template <typename T>
  PetscErrorCode borrow(size_t n, T **a)
  {
    PetscFunctionBegin;
    PetscCall(PoolBorrow(n * sizeof(T), (void **)a));
    arrays.push_back(*a);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* the same with n numbers from the host, converted */
  template <typename To, typename From>
  PetscErrorCode send(size_t n, const From *from, To **to)
  {
    std::vector<To> v(from, from + n);
    cudaStream_t    stream;

    PetscFunctionBegin;
    PetscCall(borrow(n, to));
    PetscCall(Stream(&stream));
    if (n) PetscCallCUDA(cudaMemcpyAsync(*to, v.data(), n * sizeof(To), cudaMemcpyHostToDevice, stream)); /* pageable: v has been read when this returns */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode free()
  {
    PetscFunctionBegin;
    for (void *a : arrays) PetscCall(PoolReturn(a));
    arrays.clear();
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* for plans that were made by `new` and have a function free() */
template <typename Plan>
static PetscErrorCode DestroyPlan(void **plan)
{
  Plan *p = (Plan *)*plan;

  PetscFunctionBegin;
  if (p) PetscCall(p->free());
  delete p;
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
