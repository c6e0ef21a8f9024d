comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
previous=$(gh api --paginate "$comments" \
  --jq '.[] | select(.user.type == "Bot" and (.body | startswith("<!-- pkadvisor:review -->"))) | .id' | sed -n 1p)
if [ -n "$previous" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$previous" --field "body=@$MARKDOWN"
else
  gh api --silent --method POST "$comments" --field "body=@$MARKDOWN"
fi
