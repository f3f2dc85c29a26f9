import type { Executor } from '../../platform/db/index.ts';

export interface TeamRow {
  id: string;
  name: string;
  slug: string;
  risk_state: string;
  plan_code: string;
  created_at: number;
}

export async function insertTeam(tx: Executor, team: TeamRow): Promise<void> {
  await tx.insertMany(
    'teams',
    ['id', 'name', 'slug', 'risk_state', 'plan_code', 'created_at'],
    [[team.id, team.name, team.slug, team.risk_state, team.plan_code, team.created_at]],
  );
}

export const listTeams = (db: Executor): Promise<TeamRow[]> => db.all<TeamRow>('select * from teams order by id');
