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
  { promise: 'SQL stands in stores and nowhere else', find: findSqlOutsideStores },
  { promise: 'a table is written by the stores of one folder', find: findSecondWriters },
  { promise: 'a write names its table in its first words', find: findUnheardWrites },
  { promise: 'the contract has no word that a validator would skip', find: findUnknownContractWords },
  { promise: 'every operation of the contract says who may call it', find: findUnmarkedOperations },
  { promise: 'what users read is plain English', find: findUnplainWords },
  { promise: 'a test that does not run says why', find: findUnexplainedSkips },
  { promise: 'no test schedules anything for a day that will be over', find: findFixedSchedules },
  { promise: 'package.json names exact versions', find: findInexactVersions },
  { promise: 'what is opened of a library was checked with the version that is pinned', find: findUncheckedVersions },
  { promise: 'what is opened of a library is listed', find: findUnlistedMembers },
  { promise: 'threads are started, and files of the program read, by src/program-files', find: findFilesReadAround },
  { promise: 'what the program starts or reads by its name is a part of the single file', find: findFilesNotPacked },
  { promise: 'the lockfile records no download address', find: findRecordedAddresses },
  { promise: 'the lockfile has an entry for every optional package', find: findMissingPlatforms },
  { promise: 'nothing names a path or a registry of one machine', find: findMachinePaths },
];
