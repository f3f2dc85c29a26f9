import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Where they begin late, one process works alone at the end: half a minute or more, whatever else they wait for. */
const LONG = [
  'test/cli/sessions',
  'test/browser/share-page',
  'test/install/installed',
  'test/flow/retention-model',
  'test/flow/retention',
  'test/cli/wrong-database',
  'test/console/frames',
  'test/console/life',
  'test/fault/webhooks-kill',
  'test/fault/kill',
  'test/contract/document',
];

/** A project's long files before its others. A machine that never ran them knows nothing of a file but its size. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project.name))];
    // Project by project, as they came: a process is kept for the next file of its own project alone.
    return projects.flatMap((name) => {
      const own = sorted.filter(({ project }) => project.name === name);
      return [...own.filter((file) => isLong(file)), ...own.filter((file) => !isLong(file))];
    });
  }
}

const isLong = ({ moduleId }: TestSpecification): boolean => LONG.some((file) => moduleId.endsWith(`/${file}.test.ts`));
