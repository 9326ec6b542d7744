/** Scrolls sideways where the screen is narrow. What can be done with a row stands in a last column without a title. */
export function Table({
  name,
  titles,
  hasActions = false,
  children,
}: {
  name: string
  titles: string[]
  hasActions?: boolean
  children: React.ReactNode
}) {
  return (
    <div className="card scroll-x">
      <table className="table" data-testid={name}>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title}>{title}</th>
            ))}
            {hasActions && (
              <th>
                <span className="visually-hidden">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
