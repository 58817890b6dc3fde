#include "tests/conform/conform.h"
void conform_create(void) {}
