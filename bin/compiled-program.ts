/** What a build runs. */
import './source-lines.ts';
import './main.ts';
