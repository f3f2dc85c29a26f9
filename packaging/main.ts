/** The entry point of the program in the single file. */
import '../bin/source-lines.ts';
import '../bin/main.ts';
