/* what plans have in common: device memory that is freed with them, after an error too: what their destructors say then is of no interest
   */
#pragma once
#include "base/cuda.cuh"

namespace patchfd
{

struct PlanMemory {
  std::vector<void *> arrays;

  PlanMemory()                              = default;
  PlanMemory(const PlanMemory &)            = delete;
  PlanMemory &operator=(const PlanMemory &) = delete;
  ~PlanMemory()
  {
    for (void *a : arrays) (void)cudaFree(a);
  }
  /* n numbers from the host, converted */
  template <typename To, typename From>
  PetscErrorCode upload(size_t n, const From *from, To **to)
  {
    PetscErrorCode ierr = Upload(n, from, to);

    PetscFunctionBegin;
    arrays.push_back(*to); /* after an error, too */
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* n zeros */
  template <typename T>
  PetscErrorCode malloc(size_t n, T **a)
  {
    PetscErrorCode ierr = Grid<T>::malloc(n, (void **)a);

    PetscFunctionBegin;
    arrays.push_back(*a);
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode free()
  {
    PetscFunctionBegin;
    while (!arrays.empty()) {
      void *a = arrays.back();

      arrays.pop_back();
      PetscCallCUDA(cudaFree(a));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
};

/* memory that other plans have given back (cuda.cuh), for what is made again and again, and used on PETSc's stream alone */
struct PoolMemory {
  std::vector<void *> arrays;

  PoolMemory()                              = default;
  PoolMemory(const PoolMemory &)            = delete;
  PoolMemory &operator=(const PoolMemory &) = delete;
  ~PoolMemory()
  {
    for (void *a : arrays) (void)PoolReturn(a);
  }
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

    PetscFunctionBegin;
    PetscCall(borrow(n, to));
    PetscCall(ToDevice(n * sizeof(To), v.data(), *to));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode free()
  {
    PetscFunctionBegin;
    while (!arrays.empty()) {
      void *a = arrays.back();

      arrays.pop_back();
      PetscCall(PoolReturn(a));
    }
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
