typedef int bd_engine_is_empty; /* replaced by the first source */
