import { findUnknownContractWords, findUnmarkedOperations } from './contract-words.ts';
import { findFixedSchedules } from './fixed-days.ts';
import { findInexactVersions, findMachinePaths, findMissingPlatforms, findRecordedAddresses } from './manifest.ts';
import { findTestsNobodyRuns } from './names.ts';
import { findUnplainWords } from './plain-words.ts';
import { findFilesNotPacked, findFilesReadAround } from './program-files.ts';
import { findUncheckedVersions, findUnlistedMembers } from './private-members.ts';
import { findUnexplainedSkips } from './skips.ts';
import { findSecondWriters, findSqlOutsideStores, findUnheardWrites } from './sql.ts';
import type { Problem } from './tree.ts';

export type Rule = { promise: string; find: (root: string) => Problem[] };

/** Every rule of this folder; rules.test.ts has one planted violation for each. */
export const rules: Rule[] = [
  { promise: 'every test file belongs to a project that runs it', find: findTestsNobodyRuns },
  { promise: 'SQL is written in stores only', find: findSqlOutsideStores },
  { promise: 'each table is written by the stores of one folder', find: findSecondWriters },
  { promise: 'a write names its table in the first words of its statement', find: findUnheardWrites },
  { promise: 'the contract has no keyword that a validator would skip', find: findUnknownContractWords },
  { promise: 'every operation of the contract declares who may call it', find: findUnmarkedOperations },
  { promise: 'what users read is plain English', find: findUnplainWords },
  { promise: 'a skipped test gives a reason', find: findUnexplainedSkips },
  { promise: 'no test schedules anything for a fixed day that will pass', find: findFixedSchedules },
  { promise: 'package.json names exact versions', find: findInexactVersions },
  { promise: 'private members of a library were checked with its pinned version', find: findUncheckedVersions },
  { promise: 'used private members of a library are listed', find: findUnlistedMembers },
  { promise: 'only src/program-files starts threads and reads files of the program', find: findFilesReadAround },
  {
    promise: 'files that the program starts or reads by name are part of the single executable',
    find: findFilesNotPacked,
  },
  { promise: 'the lockfile records no download address', find: findRecordedAddresses },
  { promise: 'the lockfile has an entry for every optional package', find: findMissingPlatforms },
  { promise: 'no file names a path or a registry of one machine', find: findMachinePaths },
];
