/**
 * Segments: parts of a team's contacts, by a filter or by hand. It promises that membership is evaluated when it is read,
 * and that a filter is what it was when the segment was made. Whoever they are is for the contacts to say.
 */
export {
  createSegment,
  declaredFor,
  deleteSegment,
  getSegment,
  listSegments,
  presentSegment,
  checkedFilter,
  filterOf,
  filtersOf,
  loseProperty,
  withoutLost,
  readSegmentIds,
  type NamedSegment,
  updateSegment,
} from './segments.ts';
export {
  addMembers,
  countSegments,
  findSegment,
  liveSegments,
  membersAmong,
  membershipsOf,
  removeMember,
  removeMembersOfDeleted,
  removeMemberships,
  type MemberRow,
  type SegmentRow,
} from './segments.store.ts';
