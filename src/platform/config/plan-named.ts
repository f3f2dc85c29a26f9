import type { Config, Plan } from './settings.ts';

/**
 * The plan that a team's `plan_code` means: one that was taken out of the config, or never was in it, counts as the
 * default one. What cannot be undone goes by `isPlan` instead: a plan that is missing must cost nobody their mail.
 */
export function planNamed(config: Config, code: string | undefined): { code: string; plan: Plan } {
  const { default_plan: fallback } = config.team;
  const known = code !== undefined && isPlan(config, code) ? code : fallback;
  const plan = config.plans[known];
  if (!plan) throw new Error(`the config has no plan ${known}`);
  return { code: known, plan };
}

/** A plan may be called `constructor`, and `constructor` need not be a plan. */
export const isPlan = (config: Config, code: string): boolean => Object.hasOwn(config.plans, code);
