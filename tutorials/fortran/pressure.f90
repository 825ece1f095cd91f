! The pressure of a channel flow in a Fortran code: three routines in C (plan.c), on the code's own array with ghost cells.
module pressure
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function pressure_plan(n, periodic, h, plan) bind(c)
      import
      integer(c_int), intent(in) :: n(3), periodic(3)
      real(c_double), intent(in) :: h(*)
      type(c_ptr), intent(out)   :: plan
    end function
    ! array: minus what flows out of each cell, which becomes the pressure; cell (i, j, k) is i stride(1) + j stride(2) + k stride(3)
    ! numbers after the first one
    integer(c_int) function pressure_solve(plan, array, stride) bind(c)
      import
      type(c_ptr), value            :: plan
      real(c_double), intent(inout) :: array
      integer(c_int), intent(in)    :: stride(3)
    end function
    integer(c_int) function pressure_destroy(plan) bind(c)
      import
      type(c_ptr), intent(inout) :: plan
    end function
  end interface
end module

program channel
  use pressure
  implicit none
  integer, parameter        :: n(3) = [24, 15, 32], stride(3) = [1, n(1) + 2, (n(1) + 2)*(n(2) + 2)]
  real(c_double), parameter :: pi = acos(-1d0)
  real(c_double)            :: h(sum(n)), z(0:n(3)), p(0:n(1) + 1, 0:n(2) + 1, 0:n(3) + 1), known(n(1), n(2), n(3)), error
  type(c_ptr)               :: plan
  integer                   :: i, j, k

  ! x and y are periodic, z has narrow cells at its walls
  z = [(tanh(2d0*(2d0*k/n(3) - 1)), k=0, n(3))]
  h = [(2*pi/n(1), i=1, n(1)), (2*pi/n(2), j=1, n(2)), (z(k) - z(k - 1), k=1, n(3))]
  if (pressure_plan(n, [1, 1, 0], h, plan) /= 0) stop 1

  ! a pressure that is known
  do k = 1, n(3)
    do j = 1, n(2)
      do i = 1, n(1)
        known(i, j, k) = cos(2*pi*i/n(1))*sin(4*pi*j/n(2))*exp(z(k)) + cos(3*z(k))
      end do
    end do
  end do
  do k = 1, n(3)
    do j = 1, n(2)
      do i = 1, n(1)
        p(i, j, k) = outflow(i, j, k)
      end do
    end do
  end do

  if (pressure_solve(plan, p(1, 1, 1), stride) /= 0) stop 2
  known = known - p(1:n(1), 1:n(2), 1:n(3))
  error = maxval(known) - minval(known) ! pressures are determined up to a constant
  if (error < 1d-10) then
    print '(a)', 'the pressure is the known one'
  else
    print '(a, es9.1)', 'the pressure differs from the known one by', error
  end if
  if (pressure_destroy(plan) /= 0) stop 3

contains
  ! minus div grad of the known pressure, over a cell
  real(c_double) function outflow(i, j, k)
    integer, intent(in) :: i, j, k
    integer             :: west, east, south, north
    real(c_double)      :: x, y, here

    x = h(1)
    y = h(n(1) + 1)
    here = known(i, j, k)
    west = merge(n(1), i - 1, i == 1)
    east = merge(1, i + 1, i == n(1))
    south = merge(n(2), j - 1, j == 1)
    north = merge(1, j + 1, j == n(2))
    outflow = (2*here - known(west, j, k) - known(east, j, k))*y*length(k)/x &
      + (2*here - known(i, south, k) - known(i, north, k))*x*length(k)/y
    if (k > 1) outflow = outflow + 2*(here - known(i, j, k - 1))*x*y/(length(k) + length(k - 1))
    if (k < n(3)) outflow = outflow + 2*(here - known(i, j, k + 1))*x*y/(length(k) + length(k + 1))
  end function

  real(c_double) function length(k)
    integer, intent(in) :: k

    length = z(k) - z(k - 1)
  end function
end program
