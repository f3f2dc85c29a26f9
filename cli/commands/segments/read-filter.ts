import { CliFault, type CommandProcess } from '../../output/index.ts';
import { readText } from '../read-text.ts';

export interface FilterOptions {
  filter?: string;
  filterFile?: string;
}

export async function readFilter(
  process: CommandProcess,
  { filter, filterFile }: FilterOptions,
): Promise<Record<string, unknown> | undefined> {
  if (filter !== undefined && filterFile !== undefined) {
    throw new CliFault('the filter is given twice, with --filter and --filter-file; choose one', 'usage');
  }
  const text = filterFile === undefined ? filter : await readText(process, filterFile, '--filter-file');
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    throw new CliFault(`the filter is no JSON: ${(error as Error).message.slice(0, 120)}`, 'usage');
  }
}
