/** The entry point of a build. */
import './source-lines.ts';
import './main.ts';
