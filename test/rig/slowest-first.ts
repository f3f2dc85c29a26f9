import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longFiles, nameOf } from './slowest-files.ts';

/**
 * A project's long files before its others: where they begin late, one process works alone at the end. How long a file took
 * is known of its last run here; on a machine that never ran it, of the run that wrote the list of long files.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const listed = longFiles();
    const sorted = await super.sort(files);
    const secondsOf = (file: TestSpecification): number => {
      const last = this.ctx.cache.getTestSpecificationResult(file);
      // What failed comes before everything else.
      if (last) return last.failed ? Number.MAX_VALUE : last.duration / 1000;
      return listed[nameOf(file.project, file.moduleId)] ?? 0;
    };
    const seconds = new Map(sorted.map((file) => [file, secondsOf(file)]));
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    // Project by project, as they came: a process is kept for the next file of its own project alone.
    return projects.flatMap((name) =>
      sorted
        .filter(({ project }) => project.name === name)
        .sort((a, b) => (seconds.get(b) ?? 0) - (seconds.get(a) ?? 0)),
    );
  }
}
