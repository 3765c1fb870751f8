/** More than all calls of a run cost. */
export const BALANCE = '$900000000'
