import { lookAtTeam, presentForOperator, presentForTeam } from '../resources/findings/index.ts';
import type { Operations } from './operation.ts';

export const findings = {
  async getFindings({ store, teamId, services: { node } }) {
    return presentForTeam(await lookAtTeam(store, teamId, await node.report()), store.clock.now());
  },
  getOperatorFindings: async ({ services: { node } }) => presentForOperator(await node.look()),
} satisfies Partial<Operations>;
