import { expect, it } from 'vitest';
import { loadConfig, planNamed } from './index.ts';

const { config } = loadConfig({
  env: {},
  overrides: {
    plans: { small: { name: 'Small', domain_limit: 3 }, big: { name: 'Big' } },
    team: { default_plan: 'big' },
  },
});

it.each([
  ['small', 'small'],
  ['big', 'big'],
  ['gone', 'big'],
  ['constructor', 'big'],
  ['', 'big'],
  [undefined, 'big'],
])('the stored plan %j is read as the plan %s', (code, meant) => {
  expect(planNamed(config, code)).toEqual({ code: meant, plan: config.plans[meant] });
});
