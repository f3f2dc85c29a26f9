import { readSources, type Problem } from './tree.ts';

/** Matches a schedule for a day of this century that was not over when this rule was made. */
const scheduled = /\bscheduled[-_]?at\b['"]?[\s:=,]{1,4}['"]?(20(?:2[5-9]|[3-9]\d)-\d\d-\d\d)/i;

/**
 * Finds schedules for fixed days: a suite that is green today has to be green next year. Which times may be scheduled
 * depends on the clock.
 */
export function findFixedSchedules(root: string): Problem[] {
  const isTest = (file: string): boolean => /^test\/.*\.(tsx?|session)$/.test(file);
  return readSources(root, isTest).flatMap(({ path: at, text }) =>
    text.split('\n').flatMap((line, index) => {
      const [, day] = scheduled.exec(line) ?? [];
      if (day === undefined) return [];
      return [
        {
          at: `${at}:${index + 1}`,
          says: `schedules something for ${day}, which will be over one day. Reckon from the scene's clock, or take a year after 2100 where no clock is asked.`,
        },
      ];
    }),
  );
}
