import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { longFiles, formatFileName } from './slowest-files.ts';

/**
 * Runs a project's long files before its others: if they begin late, one process works alone at the end. The duration
 * of a file is that of its last run here, or on a new machine that in the list of long files.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const listed = longFiles();
    const sorted = await super.sort(files);
    const findSeconds = (file: TestSpecification): number => {
      const last = this.ctx.cache.getTestSpecificationResult(file);
      // Failed files come before everything else.
      if (last) return last.failed ? Number.MAX_VALUE : last.duration / 1000;
      return listed[formatFileName(file.project, file.moduleId)] ?? 0;
    };
    const seconds = new Map(sorted.map((file) => [file, findSeconds(file)]));
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    // Projects stay in order: a process is kept only for the next file of its own project.
    return projects.flatMap((name) =>
      sorted
        .filter(({ project }) => project.name === name)
        .sort((a, b) => (seconds.get(b) ?? 0) - (seconds.get(a) ?? 0)),
    );
  }
}
