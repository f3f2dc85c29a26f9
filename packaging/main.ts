/** Where the program begins in the single file. */
import '../bin/source-lines.ts';
import '../bin/main.ts';
