import { lookAtTeam, presentForOperator, presentForTeam } from '../features/operations/findings/index.ts';
import type { Operations } from './operation.ts';

export const findings = {
  async getFindings({ store, teamId, services: { node } }) {
    return presentForTeam(await lookAtTeam(store, teamId, await node.report()), store.clock.now());
  },
  getOperatorFindings: async ({ services: { node } }) => presentForOperator(await node.look()),
  async examineInstallation({ services: { doctor, node } }) {
    await doctor.examine();
    return presentForOperator(await node.lookAnew());
  },
} satisfies Partial<Operations>;
