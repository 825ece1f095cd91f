/* Arrays with room for ghosts before and after the values.  Whoever has only the array asks here what is around it */
#include <patchfd/private/vecimpl.h>

/* few enough to look at all of them */
typedef struct {
  const void *array;
  size_t      room[2];
} Room;

static Room  *rooms;
static size_t nroom, maxroom;

PetscErrorCode PatchFDRoomAdd(const void *array, const size_t room[2])
{
  PetscFunctionBegin;
  if (nroom == maxroom) {
    Room *more;

    maxroom = PetscMax(64, 2 * maxroom);
    PetscCall(PetscMalloc1(maxroom, &more));
    PetscCall(PetscArraycpy(more, rooms, nroom));
    PetscCall(PetscFree(rooms));
    rooms = more;
  }
  rooms[nroom++] = (Room){.array = array, .room = {room[0], room[1]}};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PatchFDRoomRemove(const void *array)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < nroom; i++) {
    if (rooms[i].array != array) continue;
    rooms[i] = rooms[--nroom];
    break;
  }
  if (!nroom) PetscCall(PetscFree(rooms));
  if (!nroom) maxroom = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool PatchFDRoomHas(const void *array, const size_t room[2])
{
  for (size_t i = 0; i < nroom; i++)
    if (rooms[i].array == array) return (PetscBool)(rooms[i].room[0] >= room[0] && rooms[i].room[1] >= room[1]);
  return PETSC_FALSE;
}
