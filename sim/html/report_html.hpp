#pragma once

#include "report/page_origin.hpp"
