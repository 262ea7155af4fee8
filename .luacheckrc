-- The globals that a Redis script has: Lua 5.1 without the parts that reach the machine, and Redis's own tables.
-- `scripts/check-lua.mjs` runs luacheck on the flattened scripts with it.
stds.redis = {
  read_globals = {
    "KEYS", "ARGV",
    redis = {
      fields = {
        "call", "pcall", "error_reply", "status_reply", "sha1hex", "log", "setresp", "set_repl", "replicate_commands",
        "breakpoint", "debug", "acl_check_cmd", "REDIS_VERSION", "REDIS_VERSION_NUM",
        "LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING",
        "REPL_ALL", "REPL_AOF", "REPL_REPLICA", "REPL_SLAVE", "REPL_NONE",
      },
    },
    cjson = {
      fields = {
        "encode", "decode", "encode_sparse_array", "encode_max_depth", "decode_max_depth", "encode_number_precision",
        "encode_keep_buffer", "encode_invalid_numbers", "decode_invalid_numbers", "null",
      },
    },
    cmsgpack = { fields = { "pack", "unpack", "unpack_one", "unpack_limit" } },
    struct = { fields = { "pack", "unpack", "size" } },
    bit = {
      fields = {
        "tobit", "tohex", "bnot", "band", "bor", "bxor", "lshift", "rshift", "arshift", "rol", "ror", "bswap",
      },
    },
    "assert", "collectgarbage", "error", "getmetatable", "ipairs", "load", "loadstring", "next", "pairs", "pcall",
    "rawequal", "rawget", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
    coroutine = { fields = { "create", "resume", "running", "status", "wrap", "yield" } },
    math = {
      fields = {
        "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod", "frexp", "huge",
        "ldexp", "log", "log10", "max", "min", "modf", "pi", "pow", "rad", "random", "randomseed", "sin", "sinh",
        "sqrt", "tan", "tanh",
      },
    },
    string = {
      fields = {
        "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "rep", "reverse", "sub", "upper",
      },
    },
    table = { fields = { "concat", "insert", "maxn", "remove", "sort" } },
  },
}
std = "redis"
max_line_length = 120
