import type { Option } from 'commander';

const COMMON = new Set(['--json', '--url', '--api-key', '--profile', '--data']);

/** Of every command of the API. */
export const isCommon = ({ long }: Option): boolean => COMMON.has(long ?? '');
