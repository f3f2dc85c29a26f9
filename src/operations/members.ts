import {
  getTeamMember,
  listMembers,
  listTeamMembers,
  removeTeamMember,
  updateTeamMember,
} from '../tenancy/members/index.ts';
import { revokeGrantsOfMember } from '../features/identity/oauth/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const members = {
  listMembers: (ctx, { query }) => listMembers(ctx, pageOf(query)),
  listTeamMembers: (ctx, { path, query }) => listTeamMembers(ctx, path.team_id, pageOf(query)),
  getTeamMember: (ctx, { path }) => getTeamMember(ctx, path.team_id, path.member_id),
  updateTeamMember: (ctx, { path, body }) =>
    updateTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, body),
  removeTeamMember: (ctx, { path }) =>
    removeTeamMember(ctx, { teamId: path.team_id, memberId: path.member_id }, revokeGrantsOfMember),
} satisfies Partial<Operations>;
