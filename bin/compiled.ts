/** Where a build begins (`build.ts`). */
import './source-lines.ts';
import './main.ts';
