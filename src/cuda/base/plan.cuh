/* what plans have in common: device memory that goes with them, as kernels do that not all of them have */
#pragma once
#include "base/cuda.cuh"
#include <type_traits>

namespace patchfd
{

/* what Free gives back; what that says, after an error, is of no interest */
template <auto Free>
struct Memory {
  std::vector<void *> arrays;

  Memory()                          = default;
  Memory(const Memory &)            = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory()
  {
    for (void *a : arrays) (void)Free(a);
  }
};

struct PlanMemory : Memory<cudaFree> {
  /* n numbers from the host, converted */
  template <typename To, typename From>
  PetscErrorCode upload(size_t n, const From *from, To **to)
  {
    PetscErrorCode ierr = Upload(n, from, (std::remove_const_t<To> **)to);

    PetscFunctionBegin;
    arrays.push_back((void *)*to); /* after an error, too */
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* n zeros */
  template <typename T>
  PetscErrorCode malloc(size_t n, T **a)
  {
    PetscErrorCode ierr = Grid<char>::malloc(n * sizeof(T), (void **)a);

    PetscFunctionBegin;
    arrays.push_back(*a);
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* n numbers that may be anything */
  template <typename T>
  PetscErrorCode borrow(size_t n, T **a)
  {
    return malloc(n, a);
  }
};

/* memory that other plans have given back (cuda.cuh), for what is made again and again, and used on PETSc's stream alone */
struct PoolMemory : Memory<PoolReturn> {
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

/* a kernel of some class that a plan has, or not */
template <typename Class>
struct Owned {
  Class *p = NULL;

  Owned()                         = default;
  Owned(const Owned &)            = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { delete p; }
  Class **operator&() { return &p; }
  Class  *operator->() const { return p; }
          operator Class *() const { return p; }
};

/* what a kernel table calls a plan */
struct Plan {
  virtual ~Plan() { }
};

/* PlanType: for plans that are no Plan */
template <typename PlanType = Plan>
static PetscErrorCode DestroyPlan(void **plan)
{
  PetscFunctionBegin;
  delete (PlanType *)*plan;
  *plan = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace patchfd
