#include "tests/conform/conform.h"
void conform_assign(void) {}
