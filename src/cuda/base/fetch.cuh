/* Numbers that go from global to shared memory while threads go on */
#pragma once

namespace patchfd
{

/* a number on its way from global to shared memory, zero if it may not be read */
template <typename T>
static __device__ __forceinline__ void Fetch(T *to, const T *from, bool here)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
               :
               : "r"((unsigned)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)), "r"(here ? (int)sizeof(T) : 0)
               : "memory");
}

/* whatever Fetch has begun is there, for this thread */
static __device__ __forceinline__ void FetchWait()
{
  asm volatile("cp.async.wait_all;" : : : "memory");
}

} // namespace patchfd
