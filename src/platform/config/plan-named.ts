import type { Config, Plan } from './settings.ts';

/**
 * The plan that a team's `plan_code` means. One that was taken out of the config goes on serving the teams that have it; one
 * that never was in it counts as the default one. What cannot be undone goes by `isPlan` instead.
 */
export function planNamed(config: Config, code: string | undefined): { code: string; plan: Plan } {
  const { default_plan: fallback } = config.team;
  const { retired_plans: retired = {} } = config;
  if (code !== undefined && !isPlan(config, code) && Object.hasOwn(retired, code)) {
    const plan = retired[code];
    if (plan) return { code, plan };
  }
  const known = code !== undefined && isPlan(config, code) ? code : fallback;
  const plan = config.plans[known];
  if (!plan) throw new Error(`the config has no plan ${known}`);
  return { code: known, plan };
}

/** A plan may be called `constructor`, and `constructor` need not be a plan. */
export const isPlan = (config: Config, code: string): boolean => Object.hasOwn(config.plans, code);

/** Emails that a team may send a month: those that its plan includes, and those beyond them that are charged. */
export const monthlyLimitOf = (plan: Plan): number => plan.included_emails + plan.overage_emails;
